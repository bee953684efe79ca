//! Exactly which operations there are on which elements. `tests/datatypes.rs` compares this with what the hosts say of their datatypes.

use super::super::{compare_and_swap, kernel};
use crate::base::element::Element;
use crate::base::op::Op;

const INTEGER: &str = "Max Min Sum Prod Land Band Lor Bor Lxor Bxor Replace NoOp";
const FLOAT: &str = "Max Min Sum Prod Replace NoOp";
const COMPLEX: &str = "Sum Prod Replace NoOp";
const LOGICAL: &str = "Land Lor Lxor Replace NoOp";
const BITS: &str = "Band Bor Bxor Replace NoOp";
const PAIR: &str = "Minloc Maxloc Replace NoOp";
const OPAQUE: &str = "Replace NoOp";

const ALLOWED: &[(&str, &str)] = &[
    ("I8 I16 I32 I64 I128 U8 U16 U32 U64", INTEGER),
    ("F32 F64 LongDouble F128", FLOAT),
    ("ComplexF32 ComplexF64 ComplexLongDouble ComplexF128", COMPLEX),
    ("Bool Logical1 Logical2 Logical4 Logical8", LOGICAL),
    ("Byte", BITS),
    ("FloatInt DoubleInt LongInt IntInt ShortInt LongDoubleInt FloatFloat DoubleDouble", PAIR),
    ("Opaque1 Opaque2 Opaque4 Opaque16 Opaque32", OPAQUE),
];

#[test]
fn operations_are_allowed_by_kinds_of_elements() {
    let mut seen = 0;
    for (elements, ops) in ALLOWED {
        for name in elements.split(' ') {
            let element = Element::ALL.iter().find(|element| format!("{element:?}") == name).expect(name);
            let found: Vec<String> =
                Op::ALL.iter().filter(|op| kernel(**op, *element).is_some()).map(|op| format!("{op:?}")).collect();
            assert_eq!(found.join(" "), *ops, "{name}");
            seen += 1;
        }
    }
    assert_eq!(seen, Element::ALL.len());
}

#[test]
fn compare_and_swap_is_for_integers_logicals_and_bytes() {
    let found: Vec<String> = Element::ALL
        .iter()
        .filter(|element| compare_and_swap(**element).is_some())
        .map(|element| format!("{element:?}"))
        .collect();
    assert_eq!(found.join(" "), "I8 I16 I32 I64 I128 U8 U16 U32 U64 Bool Logical1 Logical2 Logical4 Logical8 Byte");
}
