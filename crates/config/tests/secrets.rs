//! No message, no listing and no quotation shows a secret, however the text around it is broken.

use headpond_config::{Config, MASK, Origin, Secrets, is_secret, mask, mask_urls};
use std::path::Path;

const HUSH: &str = "hu5h";

#[test]
fn keys_of_secrets_are_known_also_when_they_are_misspelt() {
    for key in [
        "s3.secret-key",
        "s3.secret-kee",
        "s3.secrt-key",
        "S3.SECRET-KEY",
        "s3.acess-key",
        "s3.secret_key",
        "password",
        "pasword",
        "passwort",
        "jdbc.Password",
        "properties.sasl.jaas.config",
        "fs.azure.account.key.x",
        "api-key",
        "apiKey",
        "http-headers",
        "s3.session-tokn",
    ] {
        assert!(is_secret(key), "{key}");
    }
    for key in
        ["s3.endpoint", "s3.region", "path", "format", "connector", "pipeline.name", "csv.ignore-parse-errors", "k"]
    {
        assert!(!is_secret(key), "{key}");
    }
}

#[test]
fn statements_are_shown_without_their_secrets() {
    for statement in [
        "SET 's3.secret-key' = 'hu5h'",
        "SET 's3.secret-kee' = 'hu5h';",
        "SET s3.secret-key=hu5h",
        "SET s3.secret-key hu5h",
        "SET 's3.secret-key' 'hu5h'",
        "SET 's3.secret-key' = 'hu5h",
        "SET 's3.secret-key' = hu5h'",
        "set 's3.secret-key = 'hu5h'",
        "SET 's3.secret-key' == 'hu5h'",
        "SET 's3.secret-key' := 'hu5h'",
        "SET “s3.secret-key” = “hu5h”",
        "SET 's3.secret-key' = 'x''hu5h'",
        "SET 's3.secret-key' = 'x'hu5h'",
        "SET s3.secret-key = a hu5h b",
        "SET\n  s3.secret-key\n=\n hu5h",
        "CREATE TABLE t (k INT) WITH ('password' = 'hu5h', 'path' = 'x'",
        "CREATE TABLE t (k INT) WITH ('password' 'hu5h')",
        "CREATE TABLE t WITH ('password' = hu5h)",
        "CREATE TABLE t WITH ('password' = 'a'hu5h'b')",
        "CREATE TABLE t WITH ('password' => 'hu5h')",
        "CREATE TABLE t WITH (password = 'hu5h')",
        "s3.secret-key:hu5h",
        "s3.secret-key=hu5h",
        "s3.secret-key = \"hu5h\" # mine",
        "CREATE TABLE t WITH ('path' = 'https://me:hu5h@host/x')",
        "CREATE TABLE t WITH ('path' = 's3://key:a/hu5h@b')",
    ] {
        let masked = mask(statement);
        assert!(!masked.contains(HUSH) && masked.contains(MASK), "{statement}\n{masked}");
    }
    // What is none stays.
    for statement in [
        "SELECT token, COUNT(*) FROM t GROUP BY token",
        "SELECT 1 FROM t WHERE kind IN ('password', 'hint')",
        "SET 'pipeline.name' = 'x'",
        "abfss://container@account.dfs.core.windows.net/x",
        "s3://bucket/a@b",
    ] {
        assert_eq!(mask(statement), statement);
    }
    assert_eq!(mask("WITH ('password' = 'hu5h', 'path' = 'x')"), format!("WITH ('password' = {MASK}, 'path' = 'x')"));
}

#[test]
fn messages_do_not_quote_parts_of_secrets() {
    let secrets = Secrets::of("SET 's3.secret-key' = 'hu5h-and-more'x'y'");
    for message in [
        "expected nothing, found `x`",
        "expected ), found: y",
        "found `hu5h-and-mo…`",
        "`hu5h`",
        "because hu5h-and-more'x'y is wrong",
    ] {
        let hidden = secrets.hide_quoted(message);
        assert!(hidden.contains(MASK) && !hidden.contains(HUSH), "{message}: {hidden}");
    }
    assert_eq!(secrets.hide_quoted("expected `=`, found `;`"), "expected `=`, found `;`");
    assert!(!format!("{secrets:?}").contains(HUSH));
}

#[test]
fn credentials_in_urls_are_hidden() {
    for (url, shown) in [
        ("http://me:hu5h@host:9000", "http://******@host:9000"),
        ("see s3://AKIA:a/b+hu5h@bucket/x now", "see s3://******@bucket/x now"),
        ("https://hu5h@host/", "https://******@host/"),
        ("http://a:p@ss:hu5h@h 'http://b:hu5h@h'", "http://******@h 'http://******@h'"),
    ] {
        assert_eq!(mask_urls(url), shown);
    }
    for url in ["http://host:9000/a", "abfss://c@account/x", "no url at all: a@b"] {
        assert_eq!(mask_urls(url), url);
    }
}

#[test]
fn no_layer_shows_a_secret() {
    let mut config = Config::default();
    let mut shown = Vec::new();
    let mut failed = |error: headpond_config::ConfigError| shown.push(format!("{error} {error:?}"));
    for argument in ["s3.secret-key:hu5h", "s3.secret-key hu5h", "s3.secret-kee=hu5h", "s3.endpoint:http://me:hu5h@x"] {
        failed(config.define(argument).unwrap_err());
    }
    failed(config.set("s3.secret-kee", HUSH, Origin::statement(1, 1)).unwrap_err());
    failed(config.set("execution.checkpointing.dir", "s3://key:hu5h@b", Origin::statement(1, 1)).unwrap_err());
    failed(config.set("execution.checkpointing.dir", "s3://key:a/hu5h@b", Origin::statement(1, 1)).unwrap_err());
    failed(config.load_environment([("HEADPOND_S3_SECRET_KEE".into(), HUSH.into())], &[]).unwrap_err());
    for text in [
        "s3.secret-key = hu5h",
        "s3.secret-key = 'hu5h",
        "s3.secret-key = \"hu5h\\x\"",
        "[s3]\nsecret-key = hu5h\n",
        "s3.secret-key 'hu5h'",
        "s3.secret-kee = 'hu5h'",
        "s3.secret-key = 'hu5h' 'x'",
        "s3.secret-key = 2020-01-01hu5h",
    ] {
        failed(Config::default().load_text(Path::new("headpond.toml"), text).unwrap_err());
    }
    for shown in &shown {
        assert!(!shown.contains(HUSH), "{shown}");
    }
    config.define("s3.secret-key=hu5h").unwrap();
    config.define("s3.endpoint=http://me:hu5h@host").unwrap();
    for setting in config.settings() {
        assert!(!setting.to_string().contains(HUSH), "{setting}");
    }
    assert_eq!(config.secrets().hide("the key hu5h is wrong"), "the key ****** is wrong");
}

#[test]
fn a_configuration_file_is_a_file() {
    let error = Config::default().load_file(Path::new("/dev/zero")).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
    let error = Config::default().load_file(Path::new("/")).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
}

#[test]
fn of_a_script_only_what_is_certain_is_hidden_elsewhere() {
    let script = "SET s3.secret-key = hu5h;\nSELECT * FROM t WHERE token = 'open' AND t.token = 'file';\n
        CREATE TABLE t (k INT) WITH ('password' = 'pa55 word', 'path' = 'x');";
    let secrets = Secrets::certain(script);
    assert_eq!(secrets.hide("hu5h, pa55 word: cannot open the file"), format!("{MASK}, {MASK}: cannot open the file"));
}
