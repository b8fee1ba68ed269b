// SPDX-License-Identifier: GPL-2.0-only
//! Values in which every text that the type has is planted. `samples.json` has them: each field and
//! each variant is there, which a test demands. In it `$` is a text, `$name` the part of that name,
//! and `{"$any": […]}` one of a list, in each round the next.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use model::trace::{Preemption, Queue, SleepsFor, What};
use model::{Experiment, Record};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use store::Origin;

const SAMPLES: &str = include_str!("samples.json");
const TEXT: &str = "$";
const ANY: &str = "$any";
/// The most values in one such list.
const LONGEST: usize = 7;

pub struct Filler<'a> {
    samples: Map<String, Value>,
    pub round: usize,
    /// The text for a place, such as `record.trial.contestant.name`.
    plant: &'a dyn Fn(&str) -> String,
    /// The places of all texts, and of the words of enums.
    pub places: RefCell<BTreeSet<String>>,
    pub words: RefCell<BTreeSet<String>>,
}

impl<'a> Filler<'a> {
    pub fn new(plant: &'a dyn Fn(&str) -> String) -> Filler<'a> {
        let mut samples: Map<String, Value> = serde_json::from_str(SAMPLES).expect("JSON");
        samples.insert("events".into(), events());
        let (places, words) = (RefCell::default(), RefCell::default());
        Filler { samples, round: 0, plant, places, words }
    }

    pub fn fill<T: DeserializeOwned>(&self, path: &str) -> T {
        let planted = self.planted(path, &self.samples[path]);
        let round = self.round;
        serde_json::from_value(planted).unwrap_or_else(|why| panic!("{path} in {round}: {why}"))
    }

    fn text(&self, path: &str) -> String {
        self.places.borrow_mut().insert(path.to_owned());
        (self.plant)(path)
    }

    /// A sample whose texts are planted.
    fn planted(&self, path: &str, sample: &Value) -> Value {
        match sample {
            Value::String(text) if text == TEXT => Value::String(self.text(path)),
            Value::String(word) => match word.strip_prefix(TEXT) {
                Some(part) => self.planted(path, &self.samples[part]),
                None => {
                    self.words.borrow_mut().insert(path.to_owned());
                    sample.clone()
                }
            },
            Value::Array(list) => list.iter().map(|value| self.planted(path, value)).collect(),
            Value::Object(map) if map.contains_key(ANY) => {
                let any = map[ANY].as_array().expect("a list");
                self.planted(path, &any[self.round % any.len()])
            }
            Value::Object(map) => {
                let field = |(key, value): (&String, &Value)| match key.as_str() {
                    TEXT => {
                        let value = self.planted(&format!("{path}.*"), value);
                        (self.text(&format!("{path}.#")), value)
                    }
                    name => (key.clone(), self.planted(&format!("{path}.{name}"), value)),
                };
                Value::Object(map.iter().map(field).collect())
            }
            other => other.clone(),
        }
    }
}

const EVENTS: &str = "/trace/events/";

/// One event of each kind. Serde does not say which fields they have; here the compiler demands
/// new ones.
fn events() -> Value {
    let queue = Queue::Local(0);
    let switch = What::Switch {
        prev: 1,
        prev_prio: 120,
        prev_state: TEXT.into(),
        next: 2,
        next_prio: 120,
        reason: Some(SleepsFor::Pipe),
    };
    let (from, vtime, slice_ns, ahead) = (None, None, None, None);
    let all = [
        switch,
        What::Waking { pid: 1, prio: 120, target: 0, interrupt: false, by: None },
        What::Fork { parent: 1, child: 2 },
        What::Exit { pid: 2 },
        What::Send { pid: 2, stream: 3, bytes: 4, room: 5 },
        What::Take { pid: 2, stream: 3, bytes: 4 },
        What::Enqueue { pid: 1, queue, from, vtime, slice_ns, ahead, direct: true },
        What::Choose { pid: 1, slice_ns: None },
        What::Preempt { pid: 1, why: Preemption::SliceEnd },
    ];
    let event = |what: &What| {
        let mut event = serde_json::to_value(what).expect("plain data");
        event["time_ns"] = 7.into();
        event["cpu"] = 0.into();
        event
    };
    all.iter().map(event).collect()
}

/// What samples lack: serde names the fields and variants of a type when it meets unknown ones.
#[derive(Default)]
struct Completeness {
    /// Variants of an enum, and those that have a sample.
    variants: BTreeMap<Vec<String>, BTreeSet<String>>,
    lacking: BTreeSet<String>,
}

impl Completeness {
    fn look<T: DeserializeOwned>(&mut self, root: &Value, at: &str) {
        let fault = |change: &dyn Fn(&mut Value)| {
            let mut changed = root.clone();
            change(changed.pointer_mut(at).expect("a place"));
            serde_json::from_value::<T>(changed).err().map(|fault| fault.to_string())
        };
        if at.starts_with(EVENTS) && !at.ends_with("/event") {
            // Of these, serde names the variants only.
            return self.look::<T>(root, &format!("{at}/event"));
        }
        let other = fault(&|value| *value = json!("?"));
        let value = root.pointer(at).expect("a place");
        if *value != json!(TEXT) && value.is_string() && other.is_none() {
            self.lacking.insert(format!("{at}: write {TEXT}"));
        }
        let variants = other.and_then(unknown("variant"));
        if let Some(variants) = &variants {
            let key = value.as_object().and_then(|map| map.keys().next());
            let own = key.map(String::as_str).or(value.as_str());
            // A variant that is a word has no texts.
            let is_word = |name: &str| fault(&|value| *value = json!(name)).is_none();
            let has_sample = |name: &&String| own == Some(name.as_str()) || is_word(name);
            let known = self.variants.entry(variants.clone()).or_default();
            known.extend(variants.iter().filter(has_sample).cloned());
        }
        if let Some(map) = value.as_object() {
            let fields = fault(&|value| value["?"] = json!(null)).and_then(unknown("field"));
            let is_known = variants.is_some() || map.contains_key(TEXT) || map.contains_key("kind");
            if fields.is_none() && !is_known {
                self.lacking.insert(format!("{at}: deny_unknown_fields"));
            }
            let is_alias = |name: &str| {
                let again = fault(&|value| value[name] = json!(null));
                again.is_some_and(|fault| fault.starts_with("duplicate field"))
            };
            let fields = fields.into_iter().flatten();
            let lacking = fields.filter(|name| !map.contains_key(name) && !is_alias(name));
            self.lacking.extend(lacking.map(|name| format!("{at}/{name}")));
            map.keys().for_each(|name| self.look::<T>(root, &format!("{at}/{name}")));
        }
        if let Some(list) = value.as_array() {
            assert!(!list.is_empty(), "{at}: nothing is in it");
            (0..list.len()).for_each(|place| self.look::<T>(root, &format!("{at}/{place}")));
        }
    }
}

/// The names that are expected instead of an unknown one.
fn unknown(what: &str) -> impl Fn(String) -> Option<Vec<String>> {
    let beginning = format!("unknown {what} `?`, ");
    move |fault| {
        let names = fault.strip_prefix(&beginning)?.split('`').skip(1).step_by(2);
        Some(names.map(str::to_owned).collect())
    }
}

#[test]
fn samples_are_complete() {
    let plant = |_: &str| TEXT.to_owned();
    let mut filler = Filler::new(&plant);
    let mut complete = Completeness::default();
    for round in 0..LONGEST {
        filler.round = round;
        let sample = |name: &str| filler.planted(name, &filler.samples[name]);
        complete.look::<Experiment>(&sample("experiment"), "");
        complete.look::<Record>(&sample("record"), "");
        complete.look::<Origin>(&sample("session.origin"), "");
    }
    for (all, known) in complete.variants {
        let lacking = all.into_iter().filter(|name| !known.contains(name));
        complete.lacking.extend(lacking);
    }
    assert_eq!(complete.lacking, BTreeSet::new());
}
