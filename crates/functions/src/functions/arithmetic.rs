//! Functions of numbers.

use super::random::{rand, rand_integer, uuid};
use super::rounding::round;
use super::whole_number::{WholeNumber, for_wholes};
use crate::bind::{Bind, Bound, Category, Function, Parameter};
use crate::bound::Kernel;
use crate::columns::{build_doubles, build_numbers, build_texts, decimals};
use crate::common_type::{is_floating, is_integer};
use crate::operators::{OVERFLOW, power};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, PrimitiveArray};
use arrow_schema::DataType;
use headpond_state::Error;
use std::sync::Arc;

const ONE_DOUBLE: &[Parameter] = &[Parameter::Double];

macro_rules! of_double {
    ($name:expr, $syntax:expr, $doc:expr, $examples:expr, $compute:expr) => {
        function!(&[$name], $syntax, $doc, $examples, |call| {
            let arguments = call.take(ONE_DOUBLE, 0)?;
            let compute: fn(f64) -> f64 = $compute;
            let kernel: Kernel = Arc::new(move |arguments| {
                let numbers = arguments.doubles(0)?;
                build_doubles(arguments.rows, |row| Ok(numbers.get(row).map(compute)))
            });
            Ok(call.bound(arguments, DataType::Float64, kernel))
        })
    };
}

macro_rules! of_two_doubles {
    ($names:expr, $syntax:expr, $doc:expr, $examples:expr, $compute:expr) => {
        function!($names, $syntax, $doc, $examples, |call| {
            let arguments = call.take(&[Parameter::Double, Parameter::Double], 0)?;
            let compute: fn(f64, f64) -> f64 = $compute;
            let kernel: Kernel = Arc::new(move |arguments| {
                let (left, right) = (arguments.doubles(0)?, arguments.doubles(1)?);
                build_doubles(arguments.rows, |row| Ok(left.get(row).zip(right.get(row)).map(|(a, b)| compute(a, b))))
            });
            Ok(call.bound(arguments, DataType::Float64, kernel))
        })
    };
}

const CHAPTER: Category = Category::Arithmetic;

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
