//! Predefined datatypes: that all are known, and that the kernels reduce them as the hosts do.

mod common;
use common::{Host, Side};
use std::collections::BTreeSet;
use transom::datatype::{Element, Op, kernel};

fn fortran_types_by_precision(on: Side) {
    on.program("precisions").ranks(2).passes();
}

on_hosts! {
    fortran_types_by_precision;
}

/// One reduction as a host has done it.
struct Reduced {
    datatype: String,
    element: Element,
    op: Op,
    /// Target before, origin, and target afterwards.
    buffers: [Vec<u8>; 3],
}

/// Everything that a bare host reduces, and the datatypes that it has.
fn reduced_by(host: Host) -> (Vec<Reduced>, BTreeSet<String>) {
    let outcome = Side { host, transom: false }.program("reductions").passes();
    let element = |name: &str| Element::ALL.iter().copied().find(|element| format!("{element:?}") == name).expect(name);
    let op = |name: &str| Op::ALL.iter().copied().find(|op| format!("{op:?}") == name).expect(name);
    let bytes = |text: &str| (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect();
    let (mut reductions, mut datatypes) = (Vec::new(), BTreeSet::new());
    for line in outcome.stdout.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["datatype", datatype, _] => drop(datatypes.insert(datatype.to_string())),
            ["reduced", datatype, element_name, op_name, target, origin, result] => reductions.push(Reduced {
                datatype: datatype.into(),
                element: element(element_name),
                op: op(op_name),
                buffers: [target, origin, result].map(bytes),
            }),
            _ => {}
        }
    }
    outcome.expect(datatypes.len() > 50 && reductions.len() > 300, "the host reduces next to nothing");
    (reductions, datatypes)
}

/// The element whose reduction is the host's, bit by bit: ours, but for what Debian's versions have wrong. `None` where nothing is like it.
fn as_the_host_has_it(host: Host, reduced: &Reduced) -> Option<Element> {
    use Element::*;
    let unsigned = matches!(reduced.element, U8 | U16 | U32 | U64);
    match (host, reduced.op, reduced.datatype.as_str()) {
        // Quadruple precision for the Fortran compiler, `long double` for the host.
        (_, _, "MPI_REAL16" | "MPI_COMPLEX32") => None,
        // MPICH 4.0.2 orders all unsigned numbers as if they were signed; Open MPI 4.1.4 has the signs of two types wrong.
        (Host::Mpich, Op::Max | Op::Min, _) if unsigned => Some(other_sign(reduced.element)),
        (Host::OpenMpi, Op::Max | Op::Min, "MPI_OFFSET" | "MPI_UNSIGNED_LONG") => Some(other_sign(reduced.element)),
        _ => Some(reduced.element),
    }
}

fn other_sign(element: Element) -> Element {
    use Element::*;
    match element {
        I64 => U64,
        U8 => I8,
        U16 => I16,
        U32 => I32,
        U64 => I64,
        _ => unreachable!("{element:?}"),
    }
}

fn reductions_are_the_hosts(host: Host) {
    let (mut same, mut different) = (0, Vec::new());
    for reduced in reduced_by(host).0 {
        let Some(element) = as_the_host_has_it(host, &reduced) else { continue };
        let Some(kernel) = kernel(reduced.op, element) else { continue };
        let [target, origin, result] = &reduced.buffers;
        let count = target.len() / reduced.element.extent();
        let mut ours = target.clone();
        // SAFETY: both hold `count` elements.
        unsafe { (kernel.bulk)(ours.as_mut_ptr(), origin.as_ptr(), count) };
        match is_equal(reduced.element, &ours, result) {
            true => same += 1,
            false => different.push(format!("{} {:?}:\n{ours:x?}\n{result:x?}", reduced.datatype, reduced.op)),
        }
    }
    assert!(different.is_empty(), "ours, and the host's:\n{}", different.join("\n"));
    assert!(same > 300, "only {same} reductions were compared");
}

/// Apart from padding, which hosts may write.
fn is_equal(element: Element, left: &[u8], right: &[u8]) -> bool {
    let copy = kernel(Op::Replace, element).expect("everything can be replaced").bulk;
    let data = |from: &[u8]| {
        let mut to = vec![0; from.len()];
        // SAFETY: both hold as many elements.
        unsafe { copy(to.as_mut_ptr(), from.as_ptr(), from.len() / element.extent()) };
        to
    };
    data(left) == data(right)
}

#[test]
fn reductions_are_those_of_mpich() {
    reductions_are_the_hosts(Host::Mpich);
}

#[test]
fn reductions_are_those_of_openmpi() {
    reductions_are_the_hosts(Host::OpenMpi);
}

/// A program that both hosts understand is understood, and nothing is taken that neither would take.
#[test]
fn reduced_is_what_both_hosts_reduce_and_nothing_that_neither_does() {
    let hosts = [Host::Mpich, Host::OpenMpi].map(|host| {
        let (reductions, datatypes) = reduced_by(host);
        let pairs: BTreeSet<_> = reductions.iter().map(|one| (one.datatype.clone(), one.op as u8)).collect();
        let elements: Vec<_> = reductions.iter().map(|one| (one.datatype.clone(), one.element)).collect();
        (pairs, datatypes, elements)
    });
    let [(mpich, mpich_datatypes, elements), (openmpi, openmpi_datatypes, more)] = &hosts;
    for (datatype, element) in elements.iter().chain(more) {
        for op in Op::ALL.iter().filter(|op| !matches!(op, Op::Replace | Op::NoOp)) {
            let pair = (datatype.clone(), *op as u8);
            let (ours, both) = (kernel(*op, *element).is_some(), mpich.contains(&pair) && openmpi.contains(&pair));
            assert!(ours || !both, "{datatype} {op:?} is reduced by both hosts");
            assert!(!ours || mpich.contains(&pair) || openmpi.contains(&pair), "{datatype} {op:?} is reduced by neither host");
        }
    }
    assert!(mpich_datatypes.intersection(openmpi_datatypes).count() > 50);
}
