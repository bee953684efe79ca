//! Datatypes as the standard describes them, with their type maps spelled out (MPI-4.1, section 5.1).

use crate::base::combined::{Combined, Dimension, Distribution, Order, Part, Unit};
use crate::base::element::Element;
use crate::datatype::layout::{Layout, parts};
use proptest::prelude::*;
use std::sync::Arc;

/// A byte of a type map: where it lies, and which byte of which element it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Byte {
    pub(super) offset: i64,
    pub(super) element: Element,
    pub(super) index: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Model {
    Named(Element),
    Duplicate(Box<Model>),
    Contiguous(u64, Box<Model>),
    Vector {
        count: u64,
        length: u64,
        stride: i64,
        is_bytes: bool,
        of: Box<Model>,
    },
    /// Lengths and displacements.
    Indexed {
        blocks: Vec<(u64, i64)>,
        is_bytes: bool,
        of: Box<Model>,
    },
    IndexedBlock {
        length: u64,
        displacements: Vec<i64>,
        is_bytes: bool,
        of: Box<Model>,
    },
    Struct(Vec<(u64, i64, Model)>),
    Subarray {
        dimensions: Vec<Part>,
        order: Order,
        of: Box<Model>,
    },
    Darray {
        rank: u64,
        dimensions: Vec<Dimension>,
        order: Order,
        of: Box<Model>,
    },
    Resized {
        low: i64,
        extent: i64,
        of: Box<Model>,
    },
}

fn moved(map: &[Byte], by: i64) -> impl Iterator<Item = Byte> {
    map.iter().map(move |byte| Byte { offset: byte.offset + by, ..*byte })
}

impl Model {
    /// Every data byte in order.
    pub(super) fn map(&self) -> Vec<Byte> {
        let repeated = |of: &Model, count: u64, from: i64| {
            let (map, extent) = (of.map(), of.extent());
            (0..count as i64).flat_map(move |item| moved(&map, from + item * extent).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        match self {
            Model::Named(element) => {
                let offsets: Vec<u64> = match parts(*element) {
                    Some(parts) => parts.iter().flat_map(|part| part.offset as u64..part.offset as u64 + part.bytes).collect(),
                    None => (0..element.size() as u64).collect(),
                };
                let byte = |(index, offset): (usize, u64)| Byte { offset: offset as i64, element: *element, index };
                offsets.into_iter().enumerate().map(byte).collect()
            }
            Model::Duplicate(of) | Model::Resized { of, .. } => of.map(),
            Model::Contiguous(count, of) => repeated(of, *count, 0),
            Model::Vector { count, length, stride, is_bytes, of } => {
                let stride = if *is_bytes { *stride } else { stride * of.extent() };
                (0..*count as i64).flat_map(|block| repeated(of, *length, block * stride)).collect()
            }
            Model::Indexed { blocks, is_bytes, of } => {
                let unit = if *is_bytes { 1 } else { of.extent() };
                blocks.iter().flat_map(|(length, displacement)| repeated(of, *length, displacement * unit)).collect()
            }
            Model::IndexedBlock { length, displacements, is_bytes, of } => {
                let unit = if *is_bytes { 1 } else { of.extent() };
                displacements.iter().flat_map(|displacement| repeated(of, *length, displacement * unit)).collect()
            }
            Model::Struct(members) => members.iter().flat_map(|(length, at, of)| repeated(of, *length, *at)).collect(),
            Model::Subarray { dimensions, order, of } => {
                let chosen = |index: usize| {
                    let Part { subsize, start, .. } = dimensions[index];
                    (start..start + subsize).collect()
                };
                let sizes: Vec<u64> = dimensions.iter().map(|dimension| dimension.size).collect();
                grid(&sizes, *order, chosen).into_iter().flat_map(|cell| repeated(of, 1, cell as i64 * of.extent())).collect()
            }
            Model::Darray { rank, dimensions, order, of } => {
                // The process grid is in C's order, whatever the array's.
                let places: Vec<u64> = (0..dimensions.len())
                    .map(|index| {
                        let behind: u64 = dimensions[index + 1..].iter().map(|dimension| dimension.processes).product();
                        rank / behind % dimensions[index].processes
                    })
                    .collect();
                let chosen = |index: usize| {
                    let Dimension { size, distribution, processes } = dimensions[index];
                    let owner = |global: u64| match distribution {
                        Distribution::None => places[index],
                        Distribution::Block(block) => global / block.unwrap_or(size.div_ceil(processes)),
                        Distribution::Cyclic(block) => global / block % processes,
                    };
                    (0..size).filter(|global| owner(*global) == places[index]).collect()
                };
                let sizes: Vec<u64> = dimensions.iter().map(|dimension| dimension.size).collect();
                grid(&sizes, *order, chosen).into_iter().flat_map(|cell| repeated(of, 1, cell as i64 * of.extent())).collect()
            }
        }
    }

    /// Lower and upper bound.
    fn bounds(&self) -> (i64, i64) {
        let around = |of: &Model, offsets: &[i64]| {
            let (low, high) = of.bounds();
            match (offsets.iter().min(), offsets.iter().max()) {
                (Some(first), Some(last)) => (first + low, last + high),
                _ => (0, 0),
            }
        };
        let block = |of: &Model, length: u64, at: i64| (0..length as i64).map(|item| at + item * of.extent()).collect::<Vec<_>>();
        match self {
            Model::Named(element) => (0, element.extent() as i64),
            Model::Duplicate(of) => of.bounds(),
            Model::Resized { low, extent, .. } => (*low, low + extent),
            Model::Contiguous(count, of) => around(of, &block(of, *count, 0)),
            Model::Vector { count, length, stride, is_bytes, of } => {
                let stride = if *is_bytes { *stride } else { stride * of.extent() };
                around(of, &(0..*count as i64).flat_map(|index| block(of, *length, index * stride)).collect::<Vec<_>>())
            }
            Model::Indexed { blocks, is_bytes, of } => {
                let unit = if *is_bytes { 1 } else { of.extent() };
                around(of, &blocks.iter().flat_map(|(length, at)| block(of, *length, at * unit)).collect::<Vec<_>>())
            }
            Model::IndexedBlock { length, displacements, is_bytes, of } => {
                let unit = if *is_bytes { 1 } else { of.extent() };
                around(of, &displacements.iter().flat_map(|at| block(of, *length, at * unit)).collect::<Vec<_>>())
            }
            Model::Struct(members) => {
                let member = |(length, at, of): &(u64, i64, Model)| (*length > 0).then(|| around(of, &block(of, *length, *at)));
                let all: Vec<(i64, i64)> = members.iter().filter_map(member).collect();
                let (low, high) = (all.iter().map(|bounds| bounds.0).min(), all.iter().map(|bounds| bounds.1).max());
                (low.unwrap_or(0), high.unwrap_or(0))
            }
            Model::Subarray { dimensions, of, .. } => {
                (0, dimensions.iter().map(|dimension| dimension.size as i64).product::<i64>() * of.extent())
            }
            Model::Darray { dimensions, of, .. } => {
                (0, dimensions.iter().map(|dimension| dimension.size as i64).product::<i64>() * of.extent())
            }
        }
    }

    /// As [`Layout::derived`] is told it; the host says it in earnest.
    pub(super) fn extent(&self) -> i64 {
        let (low, high) = self.bounds();
        high - low
    }

    /// What the engine makes of it.
    pub(super) fn layout(&self) -> Layout {
        let unit = |is_bytes: &bool| if *is_bytes { Unit::Byte } else { Unit::Extent };
        let combined = match self {
            Model::Named(element) => return Layout::of(*element),
            Model::Duplicate(of) | Model::Resized { of, .. } => Combined::Same(&**of),
            Model::Contiguous(count, of) => Combined::Contiguous { count: *count, of: &**of },
            Model::Vector { count, length, stride, is_bytes, of } => {
                Combined::Vector { count: *count, length: *length, stride: *stride, unit: unit(is_bytes), of: &**of }
            }
            Model::Indexed { blocks, is_bytes, of } => {
                let (lengths, displacements) = blocks.iter().copied().unzip();
                Combined::Indexed { lengths, displacements, unit: unit(is_bytes), of: &**of }
            }
            Model::IndexedBlock { length, displacements, is_bytes, of } => {
                let displacements = displacements.clone();
                Combined::IndexedBlock { length: *length, displacements, unit: unit(is_bytes), of: &**of }
            }
            Model::Struct(members) => Combined::Struct {
                lengths: members.iter().map(|member| member.0).collect(),
                displacements: members.iter().map(|member| member.1).collect(),
                of: members.iter().map(|member| &member.2).collect(),
            },
            Model::Subarray { dimensions, order, of } => {
                Combined::Subarray { dimensions: dimensions.clone(), order: *order, of: &**of }
            }
            Model::Darray { rank, dimensions, order, of } => {
                Combined::Darray { rank: *rank, dimensions: dimensions.clone(), order: *order, of: &**of }
            }
        };
        let Ok(combined) = combined.try_map(|of| Ok::<_, core::convert::Infallible>(Arc::new(of.layout())));
        Layout::derived(&combined, self.extent()).expect("small numbers")
    }
}

/// Cells of an array whose index in each dimension is one of the chosen, the first or the last dimension running first.
fn grid(sizes: &[u64], order: Order, chosen: impl Fn(usize) -> Vec<u64>) -> Vec<u64> {
    let slowest_first: Vec<usize> = match order {
        Order::C => (0..sizes.len()).collect(),
        Order::Fortran => (0..sizes.len()).rev().collect(),
    };
    let mut cells = vec![0];
    for dimension in slowest_first {
        let indices = chosen(dimension);
        cells = cells.iter().flat_map(|cell| indices.iter().map(move |index| cell * sizes[dimension] + index)).collect();
    }
    cells
}

fn element() -> impl Strategy<Value = Element> {
    prop::sample::select(vec![
        Element::I8,
        Element::I16,
        Element::I32,
        Element::U64,
        Element::F64,
        Element::ShortInt,
        Element::DoubleInt,
        Element::ComplexF64,
        Element::LongDoubleInt,
    ])
}

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::C), Just(Order::Fortran)]
}

fn part() -> impl Strategy<Value = Part> {
    (1..4_u64, 0..3_u64, 0..2_u64).prop_map(|(subsize, start, behind)| Part { size: start + subsize + behind, subsize, start })
}

fn dimension() -> impl Strategy<Value = Dimension> {
    (1..8_u64, 1..4_u64, 0..4_u64, 1..4_u64).prop_map(|(size, processes, kind, block)| {
        let (distribution, processes) = match kind {
            0 => (Distribution::None, 1),
            1 => (Distribution::Block(None), processes),
            2 => (Distribution::Block(Some(block.max(size.div_ceil(processes)))), processes),
            _ => (Distribution::Cyclic(block), processes),
        };
        Dimension { size, distribution, processes }
    })
}

/// One constructor around an inner type.
fn around(of: BoxedStrategy<Model>) -> impl Strategy<Value = Model> {
    let boxed = || of.clone().prop_map(Box::new);
    let displacement = || -6..12_i64;
    prop_oneof![
        boxed().prop_map(Model::Duplicate),
        (0..4_u64, boxed()).prop_map(|(count, of)| Model::Contiguous(count, of)),
        (0..4_u64, 0..4_u64, -40..40_i64, any::<bool>(), boxed()).prop_map(|(count, length, stride, is_bytes, of)| {
            Model::Vector { count, length, stride: if is_bytes { stride } else { stride / 6 }, is_bytes, of }
        }),
        (prop::collection::vec((0..3_u64, displacement()), 0..4), any::<bool>(), boxed())
            .prop_map(|(blocks, is_bytes, of)| Model::Indexed { blocks, is_bytes, of }),
        (0..3_u64, prop::collection::vec(displacement(), 0..4), any::<bool>(), boxed())
            .prop_map(|(length, displacements, is_bytes, of)| Model::IndexedBlock { length, displacements, is_bytes, of }),
        // Regular ones, which shapes compress.
        (1..3_u64, 1..5_i64, 2..5_i64, boxed()).prop_map(|(length, step, count, of)| {
            Model::IndexedBlock { length, displacements: (0..count).map(|index| index * step).collect(), is_bytes: false, of }
        }),
        prop::collection::vec((0..3_u64, -20..60_i64, of.clone()), 0..4).prop_map(Model::Struct),
        (prop::collection::vec(part(), 1..4), order(), boxed()).prop_map(|(dimensions, order, of)| Model::Subarray {
            dimensions,
            order,
            of
        }),
        (any::<prop::sample::Index>(), prop::collection::vec(dimension(), 1..4), order(), boxed()).prop_map(
            |(rank, dimensions, order, of)| {
                let ranks: u64 = dimensions.iter().map(|dimension| dimension.processes).product();
                Model::Darray { rank: rank.index(ranks as usize) as u64, dimensions, order, of }
            }
        ),
        (-16..16_i64, -8..80_i64, boxed()).prop_map(|(low, extent, of)| Model::Resized { low, extent, of }),
    ]
}

fn nested(leaf: BoxedStrategy<Model>) -> BoxedStrategy<Model> {
    /// Bytes of data beyond which a case only takes time.
    const MOST: usize = 4000;
    let mut all = leaf.clone();
    for _ in 0..4 {
        all = prop_oneof![1 => leaf.clone(), 5 => around(all)].boxed();
    }
    all.prop_filter("too large", |model| model.map().len() <= MOST).boxed()
}

/// Any datatype, nested up to four deep.
pub(super) fn any_model() -> BoxedStrategy<Model> {
    nested(element().prop_map(Model::Named).boxed())
}

/// Any that is not empty.
pub(super) fn any_with_data() -> BoxedStrategy<Model> {
    any_model().prop_filter("empty", |model| !model.map().is_empty()).boxed()
}

/// Two datatypes of the same element, neither of them empty.
pub(super) fn pair_of_one_element() -> BoxedStrategy<(Model, Model)> {
    let pair = |element| {
        let leaf = Just(Model::Named(element)).boxed();
        let one = nested(leaf).prop_filter("empty", |model| !model.map().is_empty()).boxed();
        (one.clone(), one)
    };
    element().prop_flat_map(pair).boxed()
}
