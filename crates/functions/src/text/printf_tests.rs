//! Tests of PRINTF.

use super::*;

#[test]
fn formats_as_java() {
    use Argument::*;
    for (format, arguments, want) in [
        ("%d %s", &[Int(1, 4), Text("a")][..], "1 a"),
        ("%05.2f", &[Double(2.75)], "02.75"),
        ("%05.2f", &[Null], "   nu"),
        ("%05.2f", &[Double(-2.5)], "-2.50"),
        ("%05.2f", &[Double(f64::NAN)], "  NaN"),
        ("%.2f", &[Double(1.005)], "1.01"),
        ("%.2f", &[Double(0.125)], "0.13"),
        ("%.0f", &[Double(0.5)], "1"),
        ("%.0f", &[Double(0.4)], "0"),
        ("%.1f", &[Double(0.04)], "0.0"),
        ("%.1f", &[Double(0.05)], "0.1"),
        ("%.1f", &[Double(9.96)], "10.0"),
        ("%f", &[Double(1e7)], "10000000.000000"),
        ("%,d", &[Int(-1234567, 8)], "-1,234,567"),
        ("%,.1f", &[Double(1234567.89)], "1,234,567.9"),
        ("%(d", &[Int(-5, 4)], "(5)"),
        ("%+d|% d", &[Int(5, 4), Int(5, 4)], "+5| 5"),
        ("%08d|%-5d|", &[Int(-42, 4), Int(7, 4)], "-0000042|7    |"),
        ("%x %X %#x %o", &[Int(-1, 1), Int(255, 4), Int(255, 4), Int(8, 4)], "ff FF 0xff 10"),
        ("%x", &[Int(-1, 4)], "ffffffff"),
        ("%#06x", &[Int(255, 4)], "0x00ff"),
        ("%e", &[Double(12.3456)], "1.234560e+01"),
        ("%.0E", &[Double(0.00015)], "2E-04"),
        ("%e", &[Double(0.0)], "0.000000e+00"),
        ("%g", &[Double(123.456)], "123.456"),
        ("%g", &[Double(0.00001)], "1.00000e-05"),
        ("%g", &[Double(1234567.0)], "1.23457e+06"),
        ("%g", &[Double(0.0)], "0.00000"),
        ("%c%c", &[Int(65, 4), Int(0x1F600, 4)], "A😀"),
        ("%b %b %b", &[Null, Bool(true), Text("x")], "false true true"),
        ("%5s|%-5s|%.2s|%S", &[Text("ab"), Text("ab"), Text("abc"), Text("ß")], "   ab|ab   |ab|SS"),
        ("%s %s", &[Decimal(-250, 2), Float(0.1)], "-2.50 0.1"),
        ("%2$s %1$s %<s", &[Text("a"), Text("b")], "b a a"),
        ("100%%%n", &[], "100%\n"),
        ("%5%", &[], "    %"),
        ("%d", &[Null], "null"),
        ("%h", &[Int(255, 4)], "ff"),
        ("%s", &[Double(f64::INFINITY)], "Infinity"),
        ("%+f", &[Double(f64::INFINITY)], "+Infinity"),
        ("%s", &[Int(1, 4), Int(2, 4)], "1"),
    ] {
        assert_eq!(printf(format, arguments), Ok(want.to_owned()), "{format}");
    }
}

#[test]
fn refuses_what_java_refuses() {
    use Argument::*;
    for (format, arguments) in [
        ("%d", &[Text("a")][..]),
        ("%d", &[Double(1.0)]),
        ("%f", &[Int(1, 4)]),
        ("%f", &[Decimal(1, 0)]),
        ("%s %s", &[Text("a")]),
        ("%q", &[Text("a")]),
        ("%", &[]),
        ("%-d", &[Int(1, 4)]),
        ("%+ d", &[Int(1, 4)]),
        ("%-05d", &[Int(1, 4)]),
        ("%.2d", &[Int(1, 4)]),
        ("%,x", &[Int(1, 4)]),
        ("%+x", &[Int(1, 4)]),
        ("%<s", &[Text("a")]),
        ("%--5d", &[Int(1, 4)]),
        ("%c", &[Int(1, 8)]),
        ("%2000000000d", &[Int(1, 4)]),
        ("%5n", &[]),
    ] {
        assert!(printf(format, arguments).is_err(), "{format}");
    }
}
