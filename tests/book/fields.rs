// SPDX-License-Identifier: GPL-2.0-only
//! Tables of file formats, from the types that the files are read into: a field's name, its type,
//! its documentation.

use std::fmt::Write as _;

use quote::ToTokens as _;
use syn::{Attribute, Expr, Field, Fields, Item, Lit, Meta, Type};

use crate::files;

/// The table of a struct's fields, or of an enum's variants.
pub fn table(name: &str) -> String {
    match item(name) {
        Item::Struct(it) => {
            let rows = it.fields.iter().map(|field| row(field, &attribute_of(field)));
            format!("| key | value | meaning |\n|---|---|---|\n{}", rows.collect::<String>())
        }
        Item::Enum(it) => {
            let rows = it.variants.iter().map(|variant| {
                let name = snake(&variant.ident.to_string());
                let value = value_of(&variant.fields);
                format!("| `{name}` | {value} | {} |\n", documentation(&variant.attrs))
            });
            format!("| step | value | meaning |\n|---|---|---|\n{}", rows.collect::<String>())
        }
        _ => unreachable!("`item` finds structs and enums"),
    }
}

/// The type of that name, wherever it is; `model` comes first.
fn item(name: &str) -> Item {
    let needles = [format!("pub struct {name} {{"), format!("pub enum {name} {{")];
    let mut sources: Vec<_> = files().into_iter().filter(|f| f.path.contains("/src/")).collect();
    sources.sort_by_key(|file| !file.path.starts_with("crates/model/"));
    let holds = |text: &str| needles.iter().any(|needle| text.contains(needle));
    let source = sources.iter().find(|file| file.is(&[".rs"]) && holds(&file.text));
    let source = source.unwrap_or_else(|| panic!("there is no type {name}"));
    let parsed = syn::parse_file(&source.text).expect("the compiler accepts it");
    let named = |item: &Item| match item {
        Item::Struct(it) => it.ident == name,
        Item::Enum(it) => it.ident == name,
        _ => false,
    };
    parsed.items.into_iter().find(named).expect("its file holds it")
}

fn row(field: &Field, serde: &str) -> String {
    if serde.contains("skip,") || serde == "skip" {
        return String::new();
    }
    let renamed = serde.split("rename = \"").nth(1).and_then(|rest| rest.split('"').next());
    let own = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    let name = renamed.unwrap_or(&own);
    format!("| `{name}` | {} | {} |\n", value(&field.ty), documentation(&field.attrs))
}

/// The words of a field's `serde` attributes.
fn attribute_of(field: &Field) -> String {
    let serde = field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde"));
    let lists = serde.filter_map(|attribute| match &attribute.meta {
        Meta::List(list) => Some(list.tokens.to_string()),
        _ => None,
    });
    lists.collect::<Vec<_>>().join(", ")
}

/// The documentation as one line of a table.
fn documentation(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let Meta::NameValue(pair) = &attribute.meta else { continue };
        let Expr::Lit(literal) = &pair.value else { continue };
        let Lit::Str(line) = &literal.lit else { continue };
        write!(text, " {}", line.value().trim()).expect("a string takes text");
    }
    // What is code to rustdoc is code to a reader; links to items are plain words.
    text.trim().replace("[`", "`").replace("`]", "`").replace('|', "\\|").replace('<', "&lt;")
}

/// What a reader writes for a type.
fn value(kind: &Type) -> String {
    let text = kind.to_token_stream().to_string().replace(' ', "");
    let inner = |prefix: &str| Some(text.strip_prefix(prefix)?.strip_suffix('>')?.to_owned());
    if let Some(inner) = inner("Option<") {
        return word(&inner);
    }
    match inner("Vec<") {
        Some(inner) => format!("list: {}", word(&inner)),
        None => word(&text),
    }
}

fn word(kind: &str) -> String {
    match kind {
        "u8" | "u16" | "u32" | "u64" | "i32" | "i64" | "f64" => "number".into(),
        "String" | "PathBuf" => "text".into(),
        "bool" => "true or false".into(),
        "Vec<String>" => "list: text".into(),
        map if map.starts_with("BTreeMap<") => "table".into(),
        other => format!("`{}`", other.rsplit("::").next().unwrap_or(other)),
    }
}

/// A variant's fields: `{ us: number, steps: list }`.
fn value_of(fields: &Fields) -> String {
    match fields {
        Fields::Unit => "–".into(),
        Fields::Unnamed(it) => it.unnamed.first().map_or("–".into(), |field| value(&field.ty)),
        Fields::Named(it) => {
            let named = it.named.iter().map(|field| {
                let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
                format!("`{name}`: {}. {}", value(&field.ty), documentation(&field.attrs))
            });
            named.collect::<Vec<_>>().join("<br>")
        }
    }
}

/// `RunUntilUs` is `run_until_us` in a file.
fn snake(name: &str) -> String {
    let mut text = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(character.to_lowercase());
    }
    text
}
