//! Functions of numbers.

use crate::bind::{Bind, Bound, Category, Function, Parameter};
use crate::bound::Kernel;
use crate::columns::{build_doubles, build_ints, build_numbers, build_texts, decimals, floats};
use crate::common_type::{is_floating, is_integer};
use crate::decimal::{precision_and_scale, rounded};
use crate::operators::{OVERFLOW, has_digits, power, rescaled};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;
use headpond_state::Error;
use std::sync::Arc;

const ONE_DOUBLE: &[Parameter] = &[Parameter::Double];

macro_rules! of_double {
    ($name:expr, $syntax:expr, $doc:expr, $examples:expr, $compute:expr) => {
        Function {
            names: &[$name],
            category: Category::Arithmetic,
            syntax: $syntax,
            doc: $doc,
            examples: $examples,
            bind: |call| {
                let arguments = call.take(ONE_DOUBLE, 0)?;
                let compute: fn(f64) -> f64 = $compute;
                let kernel: Kernel = Arc::new(move |arguments| {
                    let numbers = arguments.doubles(0)?;
                    build_doubles(arguments.rows, |row| Ok(numbers.get(row).map(compute)))
                });
                Ok(call.bound(arguments, DataType::Float64, kernel))
            },
        }
    };
}

macro_rules! of_two_doubles {
    ($names:expr, $syntax:expr, $doc:expr, $examples:expr, $compute:expr) => {
        Function {
            names: $names,
            category: Category::Arithmetic,
            syntax: $syntax,
            doc: $doc,
            examples: $examples,
            bind: |call| {
                let arguments = call.take(&[Parameter::Double, Parameter::Double], 0)?;
                let compute: fn(f64, f64) -> f64 = $compute;
                let kernel: Kernel = Arc::new(move |arguments| {
                    let (left, right) = (arguments.doubles(0)?, arguments.doubles(1)?);
                    build_doubles(arguments.rows, |row| {
                        Ok(left.get(row).zip(right.get(row)).map(|(a, b)| compute(a, b)))
                    })
                });
                Ok(call.bound(arguments, DataType::Float64, kernel))
            },
        }
    };
}

macro_rules! function {
    ($names:expr, $syntax:expr, $doc:expr, $examples:expr, $bind:expr) => {
        Function {
            names: $names,
            category: Category::Arithmetic,
            syntax: $syntax,
            doc: $doc,
            examples: $examples,
            bind: $bind,
        }
    };
}

pub(super) const FUNCTIONS: &[Function] = &[
    function!(&["ABS"], "ABS(number)", "The number without its sign.", &[("ABS(-1.5)", "1.5")], abs),
    function!(&["SIGN"], "SIGN(number)", "-1, 0 or 1, in the number's own type.", &[("SIGN(-7)", "-1")], sign),
    function!(
        &["CEIL", "CEILING"],
        "CEIL(number), CEIL(time TO unit)",
        "The least whole number that is not less, in the number's type; of a time, the next beginning of a unit.",
        &[("CEIL(1.2)", "2"), ("CEIL(TIMESTAMP '2024-02-29 13:14:15' TO MONTH)", "2024-03-01 00:00:00")],
        |call| whole_number(call, true)
    ),
    function!(
        &["FLOOR"],
        "FLOOR(number), FLOOR(time TO unit)",
        "The greatest whole number that is not more, in the number's type; of a time, the last beginning of a unit.",
        &[("FLOOR(-1.2)", "-2"), ("FLOOR(DATE '2024-02-29' TO MONTH)", "2024-02-01")],
        |call| whole_number(call, false)
    ),
    function!(
        &["ROUND"],
        "ROUND(number[, digits])",
        "The number rounded half up to so many digits behind the point; below 0, before it.",
        &[("ROUND(1.005, 2)", "1.01"), ("ROUND(15, -1)", "20")],
        |call| round(call, true)
    ),
    function!(
        &["TRUNCATE"],
        "TRUNCATE(number[, digits])",
        "The number cut off after so many digits behind the point; below 0, before it.",
        &[("TRUNCATE(42.324, 2)", "42.32")],
        |call| round(call, false)
    ),
    function!(
        &["MOD"],
        "MOD(dividend, divisor)",
        "The remainder of a division, with the sign of the dividend.",
        &[("MOD(-7, 3)", "-1")],
        modulo
    ),
    of_two_doubles!(&["POWER", "POW"], "POWER(base, exponent)", "A power.", &[("POWER(2, 10)", "1024.0")], f64::powf),
    of_double!("SQRT", "SQRT(number)", "The square root; NaN below 0.", &[("SQRT(16)", "4.0")], f64::sqrt),
    of_double!("EXP", "EXP(number)", "e raised to a power.", &[("EXP(0)", "1.0")], f64::exp),
    of_double!("LN", "LN(number)", "The natural logarithm; NaN below 0.", &[("LN(1)", "0.0")], f64::ln),
    of_double!("LOG10", "LOG10(number)", "The logarithm to base 10.", &[("LOG10(1000)", "3.0")], f64::log10),
    of_double!(
        "LOG2",
        "LOG2(number)",
        "The logarithm to base 2, as the quotient of two natural ones.",
        &[("LOG2(8)", "3.0")],
        |number| number.ln() / std::f64::consts::LN_2
    ),
    function!(
        &["LOG"],
        "LOG(number), LOG(base, number)",
        "The natural logarithm, or one to a base.",
        &[("LOG(2, 8)", "3.0")],
        logarithm
    ),
    of_double!("SIN", "SIN(radians)", "The sine.", &[("SIN(0)", "0.0")], f64::sin),
    of_double!("COS", "COS(radians)", "The cosine.", &[("COS(0)", "1.0")], f64::cos),
    of_double!("TAN", "TAN(radians)", "The tangent.", &[("TAN(0)", "0.0")], f64::tan),
    of_double!("COT", "COT(radians)", "The cotangent.", &[("COT(1)", "0.6420926159343306")], |number| 1.0
        / number.tan()),
    of_double!("ASIN", "ASIN(number)", "The arc sine; NaN beyond -1 to 1.", &[("ASIN(0)", "0.0")], f64::asin),
    of_double!("ACOS", "ACOS(number)", "The arc cosine; NaN beyond -1 to 1.", &[("ACOS(1)", "0.0")], f64::acos),
    of_double!("ATAN", "ATAN(number)", "The arc tangent.", &[("ATAN(0)", "0.0")], f64::atan),
    of_two_doubles!(&["ATAN2"], "ATAN2(y, x)", "The angle of a point.", &[("ATAN2(0, 1)", "0.0")], f64::atan2),
    of_double!("SINH", "SINH(number)", "The hyperbolic sine.", &[("SINH(0)", "0.0")], f64::sinh),
    of_double!("COSH", "COSH(number)", "The hyperbolic cosine.", &[("COSH(0)", "1.0")], f64::cosh),
    of_double!("TANH", "TANH(number)", "The hyperbolic tangent.", &[("TANH(0)", "0.0")], f64::tanh),
    of_double!("DEGREES", "DEGREES(radians)", "An angle in degrees.", &[("DEGREES(PI())", "180.0")], |radians| {
        radians * (180.0 / std::f64::consts::PI)
    }),
    of_double!(
        "RADIANS",
        "RADIANS(degrees)",
        "An angle in radians.",
        &[("RADIANS(180)", "3.141592653589793")],
        |degrees| { degrees / 180.0 * std::f64::consts::PI }
    ),
    function!(&["PI"], "PI()", "The number pi.", &[("PI()", "3.141592653589793")], |call| {
        constant(call, std::f64::consts::PI)
    }),
    function!(&["E"], "E()", "The base of natural logarithms.", &[("E()", "2.718281828459045")], |call| {
        constant(call, std::f64::consts::E)
    }),
    function!(
        &["RAND"],
        "RAND([seed])",
        "A random DOUBLE from 0 up to 1, another for each row; with a seed, the same series in each run.",
        &[],
        rand
    ),
    function!(
        &["RAND_INTEGER"],
        "RAND_INTEGER([seed, ]bound)",
        "A random INT from 0 up to a bound, another for each row.",
        &[("RAND_INTEGER(1)", "0")],
        rand_integer
    ),
    function!(&["UUID"], "UUID()", "A random UUID (version 4) as text, another for each row.", &[], uuid),
    function!(&["BIN"], "BIN(whole number)", "The number in base 2.", &[("BIN(12)", "1100")], |call| {
        let arguments = call.take(&[Parameter::Whole], 0)?;
        let kernel: Kernel = Arc::new(|arguments| {
            let numbers = arguments.longs(0)?;
            build_texts(arguments.rows, |row, text| {
                let Some(number) = numbers.get(row) else { return Ok(false) };
                text.push_str(&format!("{number:b}"));
                Ok(true)
            })
        });
        Ok(call.bound(arguments, DataType::Utf8, kernel))
    }),
];

fn constant(call: &Bind<'_>, value: f64) -> Result<Bound, Error> {
    let arguments = call.take(&[], 0)?;
    let kernel: Kernel = Arc::new(move |arguments| build_doubles(arguments.rows, |_| Ok(Some(value))));
    Ok(call.bound(arguments, DataType::Float64, kernel))
}

/// The one argument, a number of any type.
fn one_number(call: &Bind<'_>) -> Result<DataType, Error> {
    let arguments = call.take(&[Parameter::Number], 0)?;
    arguments.into_iter().next().ok_or_else(|| call.wrong())
}

/// Applies `$f` to a column of any whole number's type.
macro_rules! for_wholes {
    ($array:expr, $data_type:expr, $otherwise:expr, $f:ident $(, $argument:expr)*) => {
        match $data_type {
            DataType::Int8 => $f::<Int8Type>($array $(, $argument)*),
            DataType::Int16 => $f::<Int16Type>($array $(, $argument)*),
            DataType::Int32 => $f::<Int32Type>($array $(, $argument)*),
            DataType::Int64 => $f::<Int64Type>($array $(, $argument)*),
            _ => $otherwise,
        }
    };
}

fn as_result<T: ArrowPrimitiveType>(array: PrimitiveArray<T>) -> Result<ArrayRef, Error> {
    Ok(Arc::new(array))
}

fn abs(call: &Bind<'_>) -> Result<Bound, Error> {
    let of = one_number(call)?;
    let (wraps, data_type) = (call.settings.wraps, of.clone());
    let kernel: Kernel = Arc::new(move |arguments| {
        let array = arguments.column(0)?;
        fn abs<T: ArrowPrimitiveType>(array: &ArrayRef, wraps: bool) -> Result<ArrayRef, Error>
        where
            T::Native: WholeNumber,
        {
            let values = array.as_primitive::<T>();
            as_result(values.try_unary::<_, T, Error>(|value| match value.magnitude() {
                Some(magnitude) => Ok(magnitude),
                None if wraps => Ok(value),
                None => Err(Error::invalid("ABS: the least whole number has no opposite in its type").hint(OVERFLOW)),
            })?)
        }
        for_wholes!(
            &array,
            &data_type,
            of_reals_or_decimals(&array, f64::abs, |value, _| Some(value.abs())),
            abs,
            wraps
        )
    });
    Ok(call.bound(vec![of.clone()], of, kernel))
}

/// What functions ask of whole numbers.
trait WholeNumber: Copy {
    fn magnitude(self) -> Option<Self>;
    fn sign(self) -> Self;
    fn to_i128(self) -> i128;
    fn of_i128(number: i128) -> Option<Self>;
    fn wrapped(number: i128) -> Self;
}

macro_rules! whole_numbers {
    ($($t:ty),*) => {$(
        impl WholeNumber for $t {
            fn magnitude(self) -> Option<Self> { self.checked_abs() }
            fn sign(self) -> Self { self.signum() }
            fn to_i128(self) -> i128 { i128::from(self) }
            fn of_i128(number: i128) -> Option<Self> { Self::try_from(number).ok() }
            fn wrapped(number: i128) -> Self { number as Self }
        }
    )*};
}
whole_numbers!(i8, i16, i32, i64);

/// Applies a function to `FLOAT`s and `DOUBLE`s, or one to the digits and the scale of decimals.
fn of_reals_or_decimals(
    array: &ArrayRef,
    of_real: impl Fn(f64) -> f64,
    of_decimal: impl Fn(i128, i8) -> Option<i128>,
) -> Result<ArrayRef, Error> {
    match array.data_type() {
        DataType::Float32 => as_result(
            array.as_primitive::<Float32Type>().unary::<_, Float32Type>(|real| of_real(f64::from(real)) as f32),
        ),
        DataType::Float64 => as_result(array.as_primitive::<Float64Type>().unary::<_, Float64Type>(of_real)),
        _ => {
            let (values, scale) = decimals(array)?;
            let data_type = array.data_type().clone();
            build_numbers::<Decimal128Type>(values.len(), &data_type, |row| {
                Ok(if values.is_null(row) { None } else { of_decimal(values.value(row), scale) })
            })
        }
    }
}

fn sign(call: &Bind<'_>) -> Result<Bound, Error> {
    let of = one_number(call)?;
    let data_type = of.clone();
    let kernel: Kernel = Arc::new(move |arguments| {
        let array = arguments.column(0)?;
        fn sign<T: ArrowPrimitiveType>(array: &ArrayRef) -> Result<ArrayRef, Error>
        where
            T::Native: WholeNumber,
        {
            as_result(array.as_primitive::<T>().unary::<_, T>(WholeNumber::sign))
        }
        let of_real = |real: f64| if real == 0.0 || real.is_nan() { real } else { real.signum() };
        let of_decimal = |value: i128, scale: i8| Some(value.signum() * power(u32::from(scale.unsigned_abs()))?);
        for_wholes!(&array, &data_type, of_reals_or_decimals(&array, of_real, of_decimal), sign)
    });
    Ok(call.bound(vec![of.clone()], of, kernel))
}

fn whole_number(call: &Bind<'_>, up: bool) -> Result<Bound, Error> {
    if call.types.len() == 2 {
        return super::time::to_unit(call, up);
    }
    let of = one_number(call)?;
    let result = match &of {
        DataType::Decimal128(precision, _) => DataType::Decimal128(*precision, 0),
        other => other.clone(),
    };
    let (from, to) = (of.clone(), result.clone());
    let kernel: Kernel = Arc::new(move |arguments| {
        let array = arguments.column(0)?;
        if is_integer(&from) {
            return Ok(array);
        }
        if is_floating(&from) {
            return of_reals_or_decimals(&array, if up { f64::ceil } else { f64::floor }, |_, _| None);
        }
        let (values, scale) = decimals(&array)?;
        let divisor = power(u32::from(scale.unsigned_abs())).unwrap_or(i128::MAX);
        build_numbers::<Decimal128Type>(arguments.rows, &to, |row| {
            if values.is_null(row) {
                return Ok(None);
            }
            let below = values.value(row).div_euclid(divisor);
            let is_whole = values.value(row).rem_euclid(divisor) == 0;
            Ok(Some(if up && !is_whole { below + 1 } else { below }))
        })
    });
    Ok(call.bound(vec![of], result, kernel))
}

fn modulo(call: &Bind<'_>) -> Result<Bound, Error> {
    crate::operators::bind(&Bind { name: "%", ..*call }).unwrap_or_else(|| Err(call.wrong()))
}

/// `ROUND` and `TRUNCATE`.
fn round(call: &Bind<'_>, half_up: bool) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Number, Parameter::Whole], 1)?;
    let of = arguments[0].clone();
    let result = match (&of, call.types.len()) {
        (DataType::Decimal128(precision, scale), 1) => rounded((*precision, *scale), 0),
        (DataType::Decimal128(precision, scale), _) => match call.literal_whole(1) {
            Some(digits) => rounded((*precision, *scale), digits),
            None => of.clone(),
        },
        // Flink gives a FLOAT to be cut as the FLOAT it is, and rounds as a DOUBLE all the same.
        (other, _) => other.clone(),
    };
    let (wraps, to, name) = (call.settings.wraps, result.clone(), if half_up { "ROUND" } else { "TRUNCATE" });
    let kernel: Kernel = Arc::new(move |arguments| {
        let array = arguments.column(0)?;
        let digits = if arguments.values.len() > 1 { Some(arguments.longs(1)?) } else { None };
        let digits = |row: usize| match &digits {
            Some(digits) => digits.get(row).map(|digits| digits.clamp(-400, 400) as i32),
            None => Some(0),
        };
        fn of_wholes<T: ArrowPrimitiveType>(
            array: &ArrayRef,
            to: &DataType,
            digits: &dyn Fn(usize) -> Option<i32>,
            half_up: bool,
            wraps: bool,
            name: &str,
        ) -> Result<ArrayRef, Error>
        where
            T::Native: WholeNumber,
        {
            let values = array.as_primitive::<T>();
            build_numbers::<T>(values.len(), to, |row| {
                let Some(digits) = digits(row).filter(|_| values.is_valid(row)) else { return Ok(None) };
                let value = values.value(row).to_i128();
                let rounded = if digits >= 0 { value } else { to_digits(value, digits.unsigned_abs(), half_up) };
                match T::Native::of_i128(rounded) {
                    Some(fitting) => Ok(Some(fitting)),
                    None if wraps => Ok(Some(T::Native::wrapped(rounded))),
                    None => Err(Error::invalid(format!("{name}: {rounded} grows beyond its type")).hint(OVERFLOW)),
                }
            })
        }
        if let Some(reals) = floats(&array) {
            let single = *array.data_type() == DataType::Float32;
            let rounded = |row: usize| -> Option<f64> {
                let digits = digits(row).filter(|_| reals.is_valid(row))?;
                Some(real_to_digits(reals.value(row), single, digits, half_up))
            };
            return if single {
                build_numbers::<Float32Type>(arguments.rows, &to, |row| Ok(rounded(row).map(|real| real as f32)))
            } else {
                build_numbers::<Float64Type>(arguments.rows, &to, |row| Ok(rounded(row)))
            };
        }
        let of_decimals = || -> Result<ArrayRef, Error> {
            let (values, scale) = decimals(&array)?;
            let (precision, to_scale) = precision_and_scale(&to).unwrap_or((38, scale));
            build_numbers::<Decimal128Type>(arguments.rows, &to, |row| {
                let Some(digits) = digits(row).filter(|_| values.is_valid(row)) else { return Ok(None) };
                let dropped = i32::from(scale) - digits;
                let value = values.value(row);
                let value = if dropped > 0 { to_digits(value, dropped.unsigned_abs(), half_up) } else { value };
                Ok(rescaled(value, scale, to_scale).filter(|value| has_digits(*value, precision)))
            })
        };
        for_wholes!(&array, array.data_type(), of_decimals(), of_wholes, &to, &digits, half_up, wraps, name)
    });
    Ok(call.bound(arguments, result, kernel))
}

/// The number with its last so many digits zero.
fn to_digits(value: i128, dropped: u32, half_up: bool) -> i128 {
    let Some(unit) = power(dropped) else { return 0 };
    let cut = value / unit * unit;
    let rest = value - cut;
    let rounds = half_up && rest.unsigned_abs() >= unit.unsigned_abs() - rest.unsigned_abs();
    match rounds {
        true => cut.checked_add(unit * value.signum()).unwrap_or(cut),
        false => cut,
    }
}

/// A `DOUBLE` rounded by the decimal digits that it shows.
fn real_to_digits(real: f64, single: bool, digits: i32, half_up: bool) -> f64 {
    if !real.is_finite() || real == 0.0 {
        return real;
    }
    let shown = if single { (real as f32).to_string() } else { real.to_string() };
    let (whole, fraction) = shown.split_once('.').unwrap_or((&shown, ""));
    let negative = whole.starts_with('-');
    let whole = whole.trim_start_matches('-');
    let kept = whole.len() as i64 + i64::from(digits);
    if kept < 0 {
        return 0.0;
    }
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
    let kept = kept as usize;
    if kept >= all.len() {
        return real;
    }
    let up = half_up && all[kept] >= b'5';
    let mut digits_kept: Vec<u8> = all[..kept].to_vec();
    let mut carry = up;
    for digit in digits_kept.iter_mut().rev() {
        if !carry {
            break;
        }
        carry = *digit == b'9';
        *digit = if carry { b'0' } else { *digit + 1 };
    }
    let mut text = String::with_capacity(all.len() + 8);
    if negative {
        text.push('-');
    }
    if carry {
        text.push('1');
    }
    text.extend(digits_kept.iter().map(|digit| char::from(*digit)));
    if text.is_empty() || text == "-" {
        text.push('0');
    }
    text.push_str(&format!("e{}", -digits));
    text.parse().unwrap_or(real)
}

fn logarithm(call: &Bind<'_>) -> Result<Bound, Error> {
    if call.types.len() == 1 {
        let arguments = call.take(ONE_DOUBLE, 0)?;
        let kernel: Kernel = Arc::new(|arguments| {
            let numbers = arguments.doubles(0)?;
            build_doubles(arguments.rows, |row| Ok(numbers.get(row).map(f64::ln)))
        });
        return Ok(call.bound(arguments, DataType::Float64, kernel));
    }
    let arguments = call.take(&[Parameter::Double, Parameter::Double], 0)?;
    let kernel: Kernel = Arc::new(|arguments| {
        let (bases, numbers) = (arguments.doubles(0)?, arguments.doubles(1)?);
        build_doubles(arguments.rows, |row| {
            let Some((base, number)) = bases.get(row).zip(numbers.get(row)) else { return Ok(None) };
            if base <= 1.0 {
                return Err(Error::invalid(format!("LOG: the base {base} is not greater than 1")));
            }
            if number <= 0.0 {
                return Err(Error::invalid(format!("LOG: {number} is not greater than 0")));
            }
            Ok(Some(number.ln() / base.ln()))
        })
    });
    Ok(call.bound(arguments, DataType::Float64, kernel))
}

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

fn rand(call: &Bind<'_>) -> Result<Bound, Error> {
    let arguments = call.take(&[Parameter::Whole], 1)?;
    let random = Random::new(call.literal_whole(0));
    let kernel: Kernel = Arc::new(move |arguments| build_doubles(arguments.rows, |_| Ok(Some(random.fraction()))));
    let mut bound = call.bound(arguments, DataType::Float64, kernel);
    bound.function = bound.function.volatile();
    Ok(bound)
}

fn rand_integer(call: &Bind<'_>) -> Result<Bound, Error> {
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

fn uuid(call: &Bind<'_>) -> Result<Bound, Error> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reals_are_rounded_by_the_digits_they_show() {
        for (real, digits, expected) in [
            (1.005, 2, 1.01),
            (0.125, 2, 0.13),
            (2.5, 0, 3.0),
            (-2.5, 0, -3.0),
            (9.99, 1, 10.0),
            (0.4, 0, 0.0),
            (0.5, 0, 1.0),
            (1234.5, -2, 1200.0),
            (99.0, -2, 100.0),
            (1e300, 2, 1e300),
            (49.0, -3, 0.0),
        ] {
            assert_eq!(real_to_digits(real, false, digits, true), expected, "{real} to {digits}");
        }
        assert_eq!(real_to_digits(-42.9, false, 0, false), -42.0);
    }

    #[test]
    fn whole_numbers_are_rounded_half_up() {
        assert_eq!(to_digits(15, 1, true), 20);
        assert_eq!(to_digits(-15, 1, true), -20);
        assert_eq!(to_digits(14, 1, true), 10);
        assert_eq!(to_digits(19, 1, false), 10);
        assert_eq!(to_digits(12345, 2, true), 12300);
    }
}
