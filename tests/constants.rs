//! What the engine takes for facts of its ABI family, against each host's own `mpi.h` and the library behind it. The engine is built with
//! the header of one member of the family and serves them all.

mod common;

use common::{Host, Job, Side};
use std::ffi::CStr;
use std::fs;
use std::path::Path;
use std::process::Command;
use transom::base::element::{Category, Element};
use transom::base::error::Class;
use transom::base::op::Op;
use transom::datatype;
use transom::host::abi::{self, Handles, MPI_Datatype, MPI_Op, combiner, window};
use transom::host::predefined;

/// Values of C expressions, as the host's compiler and library see them once MPI is initialised.
fn ask<E: AsRef<str>>(host: Host, name: &str, expressions: &[E]) -> Vec<i64> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("constants").join(host.name());
    fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let (source, executable) = (directory.join(name).with_extension("c"), directory.join(name));
    let questions: String = (expressions.iter().enumerate())
        .map(|(number, expression)| format!("    printf(\"a{number}=%lld\\n\", (long long)({}));\n", expression.as_ref()))
        .collect();
    let text = format!(
        "{PREAMBLE}{}\nint main(void) {{\n    MPI_Init(NULL, NULL);\n{questions}    return MPI_Finalize();\n}}\n",
        optional()
    );
    fs::write(&source, text).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
    let mut command = Command::new(host.compiler());
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-o"]);
    let output = command.arg(&executable).arg(&source).arg("-ldl").output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", host.compiler()));
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
    let outcome = Job::of_executable(Side { host, transom: false }, executable).passes();
    let answers: Vec<i64> = (0..expressions.len()).flat_map(|number| outcome.values(&format!("a{number}"))).collect();
    outcome.expect(answers.len() == expressions.len(), "a question was not answered");
    answers
}

/// Datatypes that an `mpi.h` may leave out are null there.
fn optional() -> String {
    let names =
        "MPI_INTEGER16 MPI_REAL2 MPI_COMPLEX4 MPI_LOGICAL1 MPI_LOGICAL2 MPI_LOGICAL4 MPI_LOGICAL8 MPI_LOGICAL16 MPI_2COMPLEX
        MPI_2DOUBLE_COMPLEX";
    names.split_whitespace().map(|name| format!("#ifndef {name}\n#define {name} MPI_DATATYPE_NULL\n#endif\n")).collect()
}

const PREAMBLE: &str = r"#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

/* 0 where the type is no more than a name in this build. */
static int size(MPI_Datatype datatype) {
    int size = 0;
    if (datatype != MPI_DATATYPE_NULL)
        MPI_Type_size(datatype, &size);
    return size;
}

static MPI_Aint extent(MPI_Datatype datatype) {
    MPI_Aint lower = 0, extent = 0;
    if (datatype != MPI_DATATYPE_NULL)
        MPI_Type_get_extent(datatype, &lower, &extent);
    return lower == 0 ? extent : -1;
}

/* The host's datum of this name. */
static uintptr_t datum(const char *name) {
    return (uintptr_t)dlsym(RTLD_DEFAULT, name);
}
";

/// The expressions have these values.
#[track_caller]
fn agree(host: Host, name: &str, facts: Vec<(String, i64)>) {
    let expressions: Vec<_> = facts.iter().map(|(expression, _)| expression).collect();
    let answers = ask(host, name, &expressions);
    let wrong: Vec<_> = facts.iter().zip(answers).filter(|((_, ours), theirs)| ours != theirs).collect();
    assert!(wrong.is_empty(), "{host:?} differs (expression, ours, the host's): {wrong:?}");
}

fn numbers(host: Host) {
    let numbers = [
        ("MPI_SUCCESS", abi::SUCCESS),
        ("MPI_PROC_NULL", abi::PROC_NULL),
        ("MPI_UNDEFINED", abi::UNDEFINED),
        ("MPI_LOCK_SHARED", abi::LOCK_SHARED),
        ("MPI_LOCK_EXCLUSIVE", abi::LOCK_EXCLUSIVE),
        ("MPI_MODE_NOCHECK", abi::MODE_NOCHECK),
        ("MPI_MODE_NOPRECEDE", abi::MODE_NOPRECEDE),
        ("MPI_MODE_NOSUCCEED", abi::MODE_NOSUCCEED),
        ("MPI_MODE_NOCHECK | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED | MPI_MODE_NOPUT | MPI_MODE_NOSTORE", abi::MODES),
        ("MPI_THREAD_MULTIPLE", abi::THREAD_MULTIPLE),
        ("MPI_KEYVAL_INVALID", abi::KEYVAL_INVALID),
        ("MPI_WIN_BASE", window::BASE),
        ("MPI_WIN_SIZE", window::SIZE),
        ("MPI_WIN_DISP_UNIT", window::DISP_UNIT),
        ("MPI_WIN_CREATE_FLAVOR", window::CREATE_FLAVOR),
        ("MPI_WIN_MODEL", window::MODEL),
        ("MPI_WIN_FLAVOR_CREATE", window::FLAVOR_CREATE),
        ("MPI_WIN_FLAVOR_ALLOCATE", window::FLAVOR_ALLOCATE),
        ("MPI_WIN_FLAVOR_SHARED", window::FLAVOR_SHARED),
        ("MPI_WIN_UNIFIED", window::UNIFIED),
        ("MPI_COMBINER_NAMED", combiner::NAMED),
        ("MPI_COMBINER_F90_REAL", combiner::F90_REAL),
        ("MPI_COMBINER_F90_COMPLEX", combiner::F90_COMPLEX),
        ("MPI_COMBINER_F90_INTEGER", combiner::F90_INTEGER),
        ("MPI_COMBINER_DUP", combiner::DUP),
        ("MPI_COMBINER_CONTIGUOUS", combiner::CONTIGUOUS),
    ];
    let sizes = [
        ("MPI_MAX_ERROR_STRING", abi::MAX_ERROR_STRING),
        ("MPI_MAX_INFO_VAL", abi::MAX_INFO_VALUE),
        ("MPI_MAX_OBJECT_NAME", abi::MAX_OBJECT_NAME),
        ("sizeof(MPI_Aint)", size_of::<abi::MPI_Aint>()),
        ("sizeof(MPI_Comm)", size_of::<abi::MPI_Comm>()),
        ("sizeof(MPI_Count)", size_of::<abi::MPI_Count>()),
        ("sizeof(MPI_Datatype)", size_of::<MPI_Datatype>()),
        ("sizeof(MPI_Errhandler)", size_of::<abi::MPI_Errhandler>()),
        ("sizeof(MPI_Fint)", size_of::<abi::MPI_Fint>()),
        ("sizeof(MPI_Group)", size_of::<abi::MPI_Group>()),
        ("sizeof(MPI_Info)", size_of::<abi::MPI_Info>()),
        ("sizeof(MPI_Op)", size_of::<MPI_Op>()),
        ("sizeof(MPI_Request)", size_of::<abi::MPI_Request>()),
        ("sizeof(MPI_Status)", size_of::<abi::MPI_Status>()),
        ("sizeof(MPI_Win)", size_of::<abi::MPI_Win>()),
    ];
    // What libtransom.so returns where nobody can answer.
    let no_answer = if cfg!(transom_ompi) { "MPI_ERR_OTHER" } else { "MPI_ERR_INTERN" };
    let mut facts = vec![(no_answer.to_owned(), 16)];
    facts.extend(numbers.map(|(expression, ours)| (expression.to_owned(), i64::from(ours))));
    facts.extend(sizes.map(|(expression, ours)| (expression.to_owned(), ours as i64)));
    facts.extend(Class::ALL.iter().map(|class| (class.name().to_owned(), i64::from(abi::class_number(*class)))));
    agree(host, "numbers", facts);
}

/// The engine's handles: in the MPICH family as it has them, in the Open MPI family each made up from the place of a datum's name in the
/// list.
fn handles() -> (Handles, Vec<&'static CStr>) {
    let names = std::cell::RefCell::new(Vec::new());
    let handles = Handles::find(|name: &'static CStr| {
        let mut names = names.borrow_mut();
        names.push(name);
        Some(std::ptr::without_provenance_mut(names.len()))
    });
    (handles.expect("every name is answered"), names.into_inner())
}

/// What C has to say for a handle of [`handles`].
fn in_c(raw: i64, names: &[&CStr]) -> String {
    match usize::try_from(raw).ok().and_then(|place| names.get(place.wrapping_sub(1))) {
        Some(name) if cfg!(transom_ompi) => format!("datum({name:?})"),
        _ => format!("({raw}LL)"),
    }
}

macro_rules! raw {
    ($handle:expr) => {
        $handle.0 as usize as i64
    };
}

fn predefined_handles(host: Host) {
    let (handles, names) = handles();
    let mut pairs = vec![
        ("MPI_COMM_WORLD", raw!(handles.comm_world)),
        ("MPI_COMM_SELF", raw!(handles.comm_self)),
        ("MPI_COMM_NULL", raw!(handles.comm_null)),
        ("MPI_WIN_NULL", raw!(handles.win_null)),
        ("MPI_INFO_NULL", raw!(handles.info_null)),
        ("MPI_DATATYPE_NULL", raw!(handles.datatype_null)),
        ("MPI_BYTE", raw!(handles.byte)),
        ("MPI_UINT64_T", raw!(handles.uint64)),
        ("MPI_SUM", raw!(handles.sum)),
        ("MPI_BOR", raw!(handles.bor)),
        ("MPI_ERRHANDLER_NULL", raw!(handles.errhandler_null)),
        ("MPI_ERRORS_ARE_FATAL", raw!(handles.errors_are_fatal)),
        ("MPI_ERRORS_RETURN", raw!(handles.errors_return)),
    ];
    // Younger than Open MPI 4.
    if host != Host::OpenMpi {
        pairs.push(("MPI_ERRORS_ABORT", raw!(handles.errors_abort)));
    }
    let facts =
        pairs.into_iter().map(|(name, raw)| (format!("(uintptr_t)(intptr_t){name} == (uintptr_t){}", in_c(raw, &names)), 1));
    agree(host, "handles", facts.collect());
}

/// The standard's predefined datatypes (MPI-4.1, section 6.9.2 and tables 3.1 to 3.3) by what a reduction takes them for.
#[rustfmt::skip]
const DATATYPES: &[(Category, &str)] = &[
    (Category::Signed, "MPI_CHAR MPI_SIGNED_CHAR MPI_SHORT MPI_INT MPI_LONG MPI_LONG_LONG_INT MPI_LONG_LONG MPI_INT8_T MPI_INT16_T MPI_INT32_T
        MPI_INT64_T MPI_AINT MPI_COUNT MPI_OFFSET MPI_INTEGER MPI_INTEGER1 MPI_INTEGER2 MPI_INTEGER4 MPI_INTEGER8 MPI_INTEGER16"),
    (Category::Unsigned, "MPI_UNSIGNED_CHAR MPI_UNSIGNED_SHORT MPI_UNSIGNED MPI_UNSIGNED_LONG MPI_UNSIGNED_LONG_LONG MPI_UINT8_T MPI_UINT16_T
        MPI_UINT32_T MPI_UINT64_T MPI_CHARACTER"),
    (Category::Float, "MPI_FLOAT MPI_DOUBLE MPI_REAL MPI_DOUBLE_PRECISION MPI_REAL2 MPI_REAL4 MPI_REAL8 MPI_REAL16"),
    (Category::Complex, "MPI_C_COMPLEX MPI_C_FLOAT_COMPLEX MPI_C_DOUBLE_COMPLEX MPI_CXX_FLOAT_COMPLEX MPI_CXX_DOUBLE_COMPLEX MPI_COMPLEX
        MPI_DOUBLE_COMPLEX MPI_COMPLEX4 MPI_COMPLEX8 MPI_COMPLEX16 MPI_COMPLEX32"),
    (Category::Logical, "MPI_LOGICAL MPI_LOGICAL1 MPI_LOGICAL2 MPI_LOGICAL4 MPI_LOGICAL8 MPI_LOGICAL16"),
    (Category::TwoIntegers, "MPI_2INTEGER"),
    (Category::TwoReals, "MPI_2REAL MPI_2DOUBLE_PRECISION"),
    (Category::Opaque, "MPI_PACKED MPI_WCHAR MPI_2COMPLEX MPI_2DOUBLE_COMPLEX"),
    (Category::Only(Element::Byte), "MPI_BYTE"),
    (Category::Only(Element::Bool), "MPI_C_BOOL MPI_CXX_BOOL"),
    (Category::Only(Element::LongDouble), "MPI_LONG_DOUBLE"),
    (Category::Only(Element::ComplexLongDouble), "MPI_C_LONG_DOUBLE_COMPLEX MPI_CXX_LONG_DOUBLE_COMPLEX"),
    (Category::Only(Element::FloatInt), "MPI_FLOAT_INT"),
    (Category::Only(Element::DoubleInt), "MPI_DOUBLE_INT"),
    (Category::Only(Element::LongInt), "MPI_LONG_INT"),
    (Category::Only(Element::IntInt), "MPI_2INT"),
    (Category::Only(Element::ShortInt), "MPI_SHORT_INT"),
    (Category::Only(Element::LongDoubleInt), "MPI_LONG_DOUBLE_INT"),
];

/// Is the host's handle that of a row in a table of the engine's? A row has a number in one family and the name of a datum in the other.
fn is_row(handle: i64, number: u32, datum: i64) -> bool {
    if cfg!(transom_ompi) { handle == datum } else { number != 0 && handle == i64::from(number as i32) }
}

fn predefined_datatypes(host: Host) {
    let names: Vec<_> =
        (DATATYPES.iter()).flat_map(|(category, names)| names.split_whitespace().map(move |name| (name, *category))).collect();
    let questions = names.iter().flat_map(|(name, _)| ["(intptr_t)", "size", "extent"].map(|what| format!("{what}({name})")));
    let symbols = predefined::DATATYPES.iter().map(|(_, symbol, _)| format!("datum({symbol:?})"));
    let answers = ask(host, "datatypes", &questions.chain(symbols).collect::<Vec<_>>());
    let (theirs, data) = answers.split_at(3 * names.len());

    let mut there = 0;
    for ((name, category), theirs) in names.iter().zip(theirs.chunks_exact(3)) {
        let &[handle, size, extent] = theirs else { unreachable!("chunks of three") };
        if size == 0 {
            continue;
        }
        there += 1;
        let row = predefined::DATATYPES.iter().zip(data).find(|((number, ..), datum)| is_row(handle, *number, **datum));
        assert_eq!(row.map(|((.., ours), _)| *ours), Some(*category), "{name} ({handle:#x}) of {size} bytes under {host:?}");
        let element = category.element(size as usize);
        let taken_for = element.map_or((size, size), |element| (element.size() as i64, element.extent() as i64));
        assert_eq!(taken_for, (size, extent), "size and extent of {name} under {host:?}");
        // Open MPI's are found only once the engine has asked the host for them.
        if cfg!(transom_mpich) {
            let handle = MPI_Datatype(handle as usize as _);
            assert_eq!(datatype::element(handle), element, "{name} under {host:?}");
            let bytes = datatype::contiguous_size(handle);
            assert!(bytes.is_none_or(|bytes| bytes as i64 == size && size == extent), "{name} is no {bytes:?} under {host:?}");
        }
    }
    assert!(there > 50, "only {there} predefined datatypes under {host:?}");
}

fn predefined_operations(host: Host) {
    let names = [
        ("MPI_MAX", Op::Max),
        ("MPI_MIN", Op::Min),
        ("MPI_SUM", Op::Sum),
        ("MPI_PROD", Op::Prod),
        ("MPI_LAND", Op::Land),
        ("MPI_BAND", Op::Band),
        ("MPI_LOR", Op::Lor),
        ("MPI_BOR", Op::Bor),
        ("MPI_LXOR", Op::Lxor),
        ("MPI_BXOR", Op::Bxor),
        ("MPI_MINLOC", Op::Minloc),
        ("MPI_MAXLOC", Op::Maxloc),
        ("MPI_REPLACE", Op::Replace),
        ("MPI_NO_OP", Op::NoOp),
    ];
    assert_eq!(names.len(), Op::ALL.len());
    let questions = names.iter().map(|(name, _)| format!("(intptr_t)({name})"));
    let symbols = predefined::OPS.iter().map(|(_, symbol, _)| format!("datum({symbol:?})"));
    let answers = ask(host, "operations", &questions.chain(symbols).collect::<Vec<_>>());
    let (theirs, data) = answers.split_at(names.len());
    for ((name, op), handle) in names.iter().zip(theirs) {
        let row = predefined::OPS.iter().zip(data).find(|((number, ..), datum)| is_row(*handle, *number, **datum));
        assert_eq!(row.map(|((.., ours), _)| *ours), Some(*op), "{name} ({handle:#x}) under {host:?}");
        if cfg!(transom_mpich) {
            assert_eq!(datatype::op(MPI_Op(*handle as usize as _)), Some(*op), "{name} under {host:?}");
        }
    }
}

macro_rules! under {
    ($($module:ident $host:ident $family:ident;)*) => {
        $(
            #[cfg($family)]
            mod $module {
                use super::Host;
                #[test]
                fn numbers() {
                    super::numbers(Host::$host);
                }
                #[test]
                fn predefined_handles() {
                    super::predefined_handles(Host::$host);
                }
                #[test]
                fn predefined_datatypes() {
                    super::predefined_datatypes(Host::$host);
                }
                #[test]
                fn predefined_operations() {
                    super::predefined_operations(Host::$host);
                }
            }
        )*
    };
}

under! {
    mpich Mpich transom_mpich;
    mpich5 Mpich5 transom_mpich;
    impi Impi transom_mpich;
    openmpi OpenMpi transom_ompi;
    openmpi5 OpenMpi5 transom_ompi;
}
