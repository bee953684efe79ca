//! Predefined datatypes: that all are known, and that the kernels reduce them as the hosts do.

mod common;
use common::{Host, Outcome, Side};
use std::collections::BTreeSet;
use transom::datatype::{Element, Op, kernel};

fn fortran_types_by_precision(on: Side) {
    on.program("precisions").ranks(2).arg("moved").passes();
    on.program("precisions").ranks(2).arg("summed").passes();
}

/// Cases 48 and 49: every operation on every datatype, in all forms of an accumulate.
fn accumulates_of_every_datatype(on: Side) {
    let (reductions, datatypes) = reduced(on.program("reductions").ranks(2).arg("remote").passes());
    let mut expected = 0;
    for datatype in &datatypes {
        let of_type = |one: &&Reduced| one.datatype == *datatype;
        let element = reductions.iter().find(of_type).expect("anything can be replaced").element;
        for op in Op::ALL {
            let done = reductions.iter().filter(of_type).any(|one| one.op == *op);
            assert_eq!(done, kernel(*op, element).is_some(), "{op:?} of {datatype}");
            expected += usize::from(done);
        }
    }
    assert_eq!(reductions.len(), expected);
    for one in &reductions {
        let (ours, kernels) = (&one.buffers[2], one.by_kernel(one.element));
        assert!(is_equal(one.element, &kernels, ours), "{:?} of {}:\n{kernels:x?}\n{ours:x?}", one.op, one.datatype);
    }
}

on_hosts! {
    fortran_types_by_precision;
    accumulates_of_every_datatype, bare: [] "the kernels are Transom's";
}

/// One reduction as it was done.
struct Reduced {
    datatype: String,
    element: Element,
    op: Op,
    /// Target before, origin, and target afterwards.
    buffers: [Vec<u8>; 3],
}

impl Reduced {
    /// What the kernel makes of the operands.
    fn by_kernel(&self, element: Element) -> Vec<u8> {
        let [target, origin, _] = &self.buffers;
        let mut result = target.clone();
        let kernel = kernel(self.op, element).expect("an operation that is allowed");
        // SAFETY: both hold as many elements.
        unsafe { (kernel.bulk)(result.as_mut_ptr(), origin.as_ptr(), target.len() / element.extent()) };
        result
    }
}

/// Everything that was reduced, and the datatypes that there are.
fn reduced(outcome: Outcome) -> (Vec<Reduced>, BTreeSet<String>) {
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
    outcome.expect(datatypes.len() > 50 && reductions.len() > 300, "next to nothing was reduced");
    (reductions, datatypes)
}

fn reduced_by(host: Host) -> (Vec<Reduced>, BTreeSet<String>) {
    reduced(Side { host, transom: false }.program("reductions").arg("local").passes())
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
    for one in reduced_by(host).0 {
        let Some(element) = as_the_host_has_it(host, &one).filter(|element| kernel(one.op, *element).is_some()) else { continue };
        let (ours, theirs) = (one.by_kernel(element), &one.buffers[2]);
        match is_equal(element, &ours, theirs) {
            true => same += 1,
            false => different.push(format!("{:?} of {}:\n{ours:x?}\n{theirs:x?}", one.op, one.datatype)),
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
