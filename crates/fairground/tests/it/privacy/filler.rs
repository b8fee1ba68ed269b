// SPDX-License-Identifier: GPL-2.0-only
//! Values in which every text that the type has is planted: the type itself says, by `Deserialize`,
//! which fields there are. A new field is planted without a change here.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::{self, Display};

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error, Expected, MapAccess,
    SeqAccess, VariantAccess, Visitor,
};
use serde_json::Value;

use super::samples::{TEXT, samples};

/// Steps are in steps, without an end.
const STEPS_IN_STEPS: usize = 2;

#[derive(Debug)]
pub struct Fault(String);

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Fault {}

impl Error for Fault {
    fn custom<T: Display>(message: T) -> Fault {
        Fault(message.to_string())
    }
}

/// Fills values. In each round every enum has another variant.
pub struct Filler<'a> {
    pub round: usize,
    /// The text for a place, such as `record.trial.contestant.name`.
    pub plant: &'a dyn Fn(&str) -> String,
    /// The places of all texts, and of the words of enums.
    pub places: RefCell<BTreeSet<String>>,
    pub words: RefCell<BTreeSet<String>>,
    /// Serde lists second names of fields among the fields.
    aliases: RefCell<BTreeSet<String>>,
    last_keys: RefCell<[String; 2]>,
}

impl<'a> Filler<'a> {
    pub fn new(plant: &'a dyn Fn(&str) -> String) -> Filler<'a> {
        Filler {
            round: 0,
            plant,
            places: RefCell::default(),
            words: RefCell::default(),
            aliases: RefCell::default(),
            last_keys: RefCell::default(),
        }
    }

    pub fn fill<T: DeserializeOwned>(&self, path: &str) -> T {
        loop {
            match T::deserialize(self.at(path.to_owned())) {
                Ok(value) => return value,
                Err(Fault(why)) if why.starts_with("duplicate field") => {
                    // The two names stand together, and the fault has the first one of the type.
                    let name = why.split('`').nth(1).unwrap_or_default();
                    let keys = self.last_keys.borrow();
                    let is_name = keys[1].rsplit('.').next() == Some(name);
                    self.aliases.borrow_mut().insert(keys[usize::from(!is_name)].clone());
                }
                Err(Fault(why)) => panic!("{path} in round {}: {why}", self.round),
            }
        }
    }

    fn at(&self, path: String) -> Place<'_> {
        Place { filler: self, path }
    }

    fn text(&self, path: &str) -> String {
        self.places.borrow_mut().insert(path.to_owned());
        (self.plant)(path)
    }

    /// A sample whose texts are planted.
    fn planted(&self, path: &str, sample: Value) -> Value {
        match sample {
            Value::String(text) if text == TEXT => Value::String(self.text(path)),
            Value::String(word) => {
                self.words.borrow_mut().insert(path.to_owned());
                Value::String(word)
            }
            Value::Array(list) => list.into_iter().map(|value| self.planted(path, value)).collect(),
            Value::Object(map) => {
                let planted = map.into_iter().map(|(key, value)| match key.as_str() {
                    TEXT => {
                        let value = self.planted(&format!("{path}.*"), value);
                        (self.text(&format!("{path}.#")), value)
                    }
                    name => {
                        let path = format!("{path}.{name}");
                        (key, self.planted(&path, value))
                    }
                });
                Value::Object(planted.collect())
            }
            other => other,
        }
    }
}

/// A place in a value that is filled.
struct Place<'a> {
    filler: &'a Filler<'a>,
    path: String,
}

impl<'a> Place<'a> {
    fn child(&self, name: &str) -> Place<'a> {
        Place { filler: self.filler, path: format!("{}.{name}", self.path) }
    }

    fn sample<'de, V: Visitor<'de>>(&self, visitor: V) -> Result<V::Value, Fault> {
        let name = (&visitor as &dyn Expected).to_string();
        let samples = samples(&name);
        let sample = samples[self.filler.round % samples.len()].clone();
        let planted = self.filler.planted(&self.path, sample);
        let fault = |error: serde_json::Error| Fault(format!("{name}: {error}"));
        match planted {
            Value::Object(mut map) if name == "struct TraceEvent" => {
                map.insert("time_ns".into(), 7.into());
                map.insert("cpu".into(), 0.into());
                map.deserialize_map(visitor).map_err(fault)
            }
            other => other.deserialize_any(visitor).map_err(fault),
        }
    }
}

macro_rules! numbers {
    ($($name:ident $visit:ident $value:expr;)*) => {
        $(fn $name<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            visitor.$visit($value)
        })*
    };
}

impl<'de> Deserializer<'de> for Place<'_> {
    type Error = Fault;

    numbers! {
        deserialize_bool visit_bool true;
        deserialize_i8 visit_i8 1; deserialize_i16 visit_i16 1; deserialize_i32 visit_i32 1;
        deserialize_i64 visit_i64 1; deserialize_u8 visit_u8 1; deserialize_u16 visit_u16 1;
        deserialize_u32 visit_u32 1; deserialize_u64 visit_u64 1; deserialize_f32 visit_f32 1.0;
        deserialize_f64 visit_f64 1.0; deserialize_char visit_char 'c';
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.sample(visitor)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_string(self.filler.text(&self.path))
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        let is_deep = self.path.matches("steps").count() > STEPS_IN_STEPS;
        let left = if is_deep && self.path.ends_with("steps") { 0 } else { 1 };
        visitor.visit_seq(Elements { place: self, left })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_seq(Elements { place: self, left })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        if (&visitor as &dyn Expected).to_string().starts_with("struct ") {
            return self.sample(visitor);
        }
        visitor.visit_map(Fields { place: self, names: &["*"], is_map: true })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_map(Fields { place: self, names, is_map: false })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let depth = self.path.matches("steps").count();
        let variant = variants[(self.filler.round + depth) % variants.len()];
        visitor.visit_enum(Variant { place: self, variant })
    }

    serde::forward_to_deserialize_any! {
        bytes byte_buf unit unit_struct tuple_struct identifier ignored_any i128 u128
    }
}

struct Elements<'a> {
    place: Place<'a>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Fault;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let place = self.place.filler.at(self.place.path.clone());
        seed.deserialize(place).map(Some)
    }
}

/// The fields of a struct, or the one entry of a map.
struct Fields<'a> {
    place: Place<'a>,
    names: &'a [&'a str],
    is_map: bool,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Fault;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Fault> {
        let Place { filler, path } = &self.place;
        let key = |name: &str| format!("{path}.{name}");
        let is_alias = |name: &&&str| filler.aliases.borrow().contains(&key(name));
        self.names = &self.names[self.names.iter().take_while(is_alias).count()..];
        match self.names.first() {
            None => Ok(None),
            Some(_) if self.is_map => seed.deserialize(self.place.child("#")).map(Some),
            Some(name) => {
                let mut keys = filler.last_keys.borrow_mut();
                keys.swap(0, 1);
                keys[1] = key(name);
                drop(keys);
                seed.deserialize(StrDeserializer::new(name)).map(Some)
            }
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Fault> {
        let (name, rest) = self.names.split_first().expect("a key came before");
        self.names = rest;
        seed.deserialize(self.place.child(name))
    }
}

struct Variant<'a> {
    place: Place<'a>,
    variant: &'static str,
}

impl<'de, 'a> EnumAccess<'de> for Variant<'a> {
    type Error = Fault;
    type Variant = Variant<'a>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Variant<'a>), Fault> {
        Ok((seed.deserialize(StrDeserializer::<Fault>::new(self.variant))?, self))
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        self.place.filler.words.borrow_mut().insert(self.place.path);
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Fault> {
        seed.deserialize(self.place.child(self.variant))
    }

    fn tuple_variant<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Fault> {
        let place = self.place.child(self.variant);
        visitor.visit_seq(Elements { place, left })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        names: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_map(Fields { place: self.place.child(self.variant), names, is_map: false })
    }
}
