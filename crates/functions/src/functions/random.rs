//! Random numbers: RAND, RAND_INTEGER, UUID.

use crate::bind::{Bind, Bound, Parameter};
use crate::bound::Kernel;
use crate::columns::{build_doubles, build_ints, build_texts};
use arrow_schema::DataType;
use headpond_state::Error;
use std::sync::Arc;

/// A small generator of random numbers (SplitMix64): good enough for samples, and the same on every machine.
#[derive(Debug)]
struct Random(std::sync::atomic::AtomicU64);

impl Random {
    fn new(seed: Option<i64>) -> Self {
        let seed = seed.map_or_else(
            || {
                use std::hash::{BuildHasher, Hasher};
                std::collections::hash_map::RandomState::new().build_hasher().finish()
            },
            |seed| seed as u64,
        );
        Random(std::sync::atomic::AtomicU64::new(seed))
    }

    fn next(&self) -> u64 {
        const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
        let state = self.0.fetch_add(STEP, std::sync::atomic::Ordering::Relaxed).wrapping_add(STEP);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn fraction(&self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

pub(super) fn rand(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Whole], 1)?;
    let random = Random::new(call.literal_whole(0));
    let kernel: Kernel = Arc::new(move |arguments| build_doubles(arguments.rows, |_| Ok(Some(random.fraction()))));
    let mut bound = call.bound(arguments, DataType::Float64, kernel);
    bound.function = bound.function.volatile();
    Ok(bound)
}

pub(super) fn rand_integer(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = if call.types.len() == 1 {
        call.take(&[Parameter::Whole], 0)?
    } else {
        call.take(&[Parameter::Whole, Parameter::Whole], 0)?
    };
    let bound_index = arguments.len() - 1;
    let seed = if bound_index == 1 { call.literal_whole(0) } else { None };
    let random = Random::new(seed);
    let kernel: Kernel = Arc::new(move |arguments| {
        let bounds = arguments.longs(bound_index)?;
        build_ints(arguments.rows, |row| match bounds.get(row) {
            None => Ok(None),
            Some(bound) if bound > 0 => Ok(i32::try_from(random.next() % bound.unsigned_abs()).ok()),
            Some(bound) => Err(Error::invalid(format!("RAND_INTEGER: the bound {bound} is not greater than 0"))),
        })
    });
    let mut bound = call.bound(arguments, DataType::Int32, kernel);
    bound.function = bound.function.volatile();
    Ok(bound)
}

pub(super) fn uuid(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[], 0)?;
    let random = Random::new(None);
    let kernel: Kernel = Arc::new(move |arguments| {
        build_texts(arguments.rows, |_, text| {
            let (high, low) = (random.next(), random.next());
            let version = (high & 0xFFFF_FFFF_FFFF_0FFF) | 0x4000;
            let variant = (low & 0x3FFF_FFFF_FFFF_FFFF) | 0x8000_0000_0000_0000;
            text.push_str(&format!(
                "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
                version >> 32,
                version >> 16 & 0xFFFF,
                version & 0xFFFF,
                variant >> 48,
                variant & 0xFFFF_FFFF_FFFF
            ));
            Ok(true)
        })
    });
    let mut bound = call.bound(arguments, DataType::Utf8, kernel);
    bound.function = bound.function.volatile();
    Ok(bound)
}
