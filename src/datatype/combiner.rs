//! From the constructor of a derived datatype to its shape.

use super::shape::{Group, Shape};
use crate::base::combined::{Combined, Dimension, Distribution, Order, Part, Unit};

/// The shape, where `part` gives shape and extent of an inner type; `None` where the numbers pass 64 bits.
pub(super) fn shape<'a, T>(combined: &'a Combined<T>, part: impl Fn(&'a T) -> (&'a Shape, i64)) -> Option<Shape> {
    let (of, unit) = match combined {
        Combined::Struct { lengths, displacements, of } => {
            let member = |((of, length), displacement): ((&'a T, &u64), &i64)| {
                let (shape, extent) = part(of);
                Some(shape.clone().repeat(*length, extent)?.at(*displacement))
            };
            let members = of.iter().zip(lengths).zip(displacements).map(member).collect::<Option<Vec<_>>>()?;
            return Shape::sequence(members);
        }
        Combined::Vector { of, unit, .. } | Combined::Indexed { of, unit, .. } | Combined::IndexedBlock { of, unit, .. } => {
            (of, *unit)
        }
        Combined::Same(of) | Combined::Contiguous { of, .. } | Combined::Subarray { of, .. } | Combined::Darray { of, .. } => {
            (of, Unit::Extent)
        }
    };
    let (inner, extent) = part(of);
    let inner = inner.clone();
    let bytes = |displacement: i64| match unit {
        Unit::Byte => Some(displacement),
        Unit::Extent => displacement.checked_mul(extent),
    };
    let all_bytes = |displacements: &[i64]| displacements.iter().map(|at| bytes(*at)).collect::<Option<Vec<i64>>>();
    match combined {
        Combined::Same(_) => Some(inner),
        Combined::Contiguous { count, .. } => inner.repeat(*count, extent),
        Combined::Vector { count, length, stride, .. } => inner.repeat(*length, extent)?.repeat(*count, bytes(*stride)?),
        Combined::Indexed { lengths, displacements, .. } => {
            let offsets = all_bytes(displacements)?;
            inner.groups(offsets.iter().zip(lengths).map(|(offset, count)| Group { offset: *offset, count: *count }), extent)
        }
        Combined::IndexedBlock { length, displacements, .. } => {
            let offsets = all_bytes(displacements)?;
            inner.groups(offsets.iter().map(|offset| Group { offset: *offset, count: *length }), extent)
        }
        Combined::Struct { .. } => unreachable!("served above"),
        Combined::Subarray { dimensions, order, .. } => {
            let one = |shape: Shape, part: &Part, stride: i64| {
                let start = i64::try_from(part.start).ok()?.checked_mul(stride)?;
                Some(shape.repeat(part.subsize, stride)?.at(start))
            };
            array(inner, extent, dimensions, *order, |part| part.size, one)
        }
        Combined::Darray { rank, dimensions, order, .. } => {
            // Ranks are dealt out with the last dimension running first, whatever the array's order.
            let mut rest = *rank;
            let mut dealt = Vec::with_capacity(dimensions.len());
            for dimension in dimensions.iter().rev() {
                dealt.push((*dimension, rest.checked_rem(dimension.processes)?));
                rest /= dimension.processes;
            }
            dealt.reverse();
            array(inner, extent, &dealt, *order, |(dimension, _)| dimension.size, share)
        }
    }
}

/// An array of `inner`, dimension by dimension from the one that runs first; `one` takes a dimension's part of what lies `stride` bytes apart.
fn array<D>(
    inner: Shape,
    extent: i64,
    dimensions: &[D],
    order: Order,
    size: impl Fn(&D) -> u64,
    one: impl Fn(Shape, &D, i64) -> Option<Shape>,
) -> Option<Shape> {
    let (mut shape, mut stride) = (inner, extent);
    let mut next = |dimension: &D| {
        shape = one(std::mem::replace(&mut shape, Shape::EMPTY), dimension, stride)?;
        stride = stride.checked_mul(i64::try_from(size(dimension)).ok()?)?;
        Some(())
    };
    match order {
        Order::C => dimensions.iter().rev().try_for_each(&mut next)?,
        Order::Fortran => dimensions.iter().try_for_each(&mut next)?,
    }
    Some(shape)
}

/// What a process has of a dimension, by its place among the dimension's processes.
fn share(shape: Shape, (dimension, place): &(Dimension, u64), stride: i64) -> Option<Shape> {
    let Dimension { size, distribution, processes } = *dimension;
    let block = match distribution {
        Distribution::None => return shape.repeat(size, stride),
        Distribution::Block(None) => size.div_ceil(processes),
        Distribution::Block(Some(block)) | Distribution::Cyclic(block) => block,
    };
    let first = place.checked_mul(block)?;
    // Blocks of one process begin this far from each other, and the last one may be shorter.
    let round = block.checked_mul(processes)?;
    if first >= size {
        return Some(Shape::EMPTY);
    }
    let whole = (size - first) / round;
    let rest = (size - first - whole * round).min(block);
    let bytes = |elements: u64| i64::try_from(elements).ok()?.checked_mul(stride);
    let blocks = shape.clone().repeat(block, stride)?.repeat(whole, bytes(round)?)?;
    let last = shape.repeat(rest, stride)?.at(bytes(whole * round)?);
    Some(Shape::sequence([blocks, last])?.at(bytes(first)?))
}
