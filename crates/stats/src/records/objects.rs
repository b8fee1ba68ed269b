// SPDX-License-Identifier: GPL-2.0-only
//! Programs that several compilers made of one scheduler's text. The text's SHA-256 is the same for
//! everybody, with a compiler or without; what ran is the object, whose hash the record has. Other
//! compilers, flags and headers make other objects, and their numbers are not one contestant's.

use std::collections::BTreeMap;

use model::trial::KnownAs;
use model::{Contestant, Record, Shared};

/// A contestant's name, and whether it is simulated: the simulator runs an object of its own.
type Key = (String, bool);

/// An object with its contestant, and how many trials ran it.
struct Object {
    hash: String,
    contestant: Shared<Contestant>,
    trials: usize,
}

/// Gives a name of its own to each further object that the records of one contestant ran, and says
/// so in a sentence for each contestant.
pub fn name_objects_if_several(records: &mut [Record]) -> Vec<String> {
    let mut objects: BTreeMap<Key, Vec<Object>> = BTreeMap::new();
    for record in records {
        let Some(hash) = record.provenance.object().map(str::to_owned) else { continue };
        let contestant = &record.trial.contestant;
        let key = (contestant.name.clone(), record.trial.backend.is_model());
        let known = objects.entry(key).or_default();
        let place = known.iter().position(|object| object.hash == hash).unwrap_or_else(|| {
            let mut contestant = contestant.clone();
            if !known.is_empty() {
                contestant.name = format!("{} (object {})", contestant.name, short(&hash));
            }
            known.push(Object { hash, contestant, trials: 0 });
            known.len() - 1
        });
        known[place].trials += 1;
        if place > 0 {
            record.trial.known_as = KnownAs(Some(record.trial.id()));
            record.trial.contestant = known[place].contestant.clone();
        }
    }
    objects.into_iter().filter(|(_, known)| known.len() > 1).map(sentence).collect()
}

fn sentence(((name, is_simulated), known): (Key, Vec<Object>)) -> String {
    let each = |object: &Object| {
        let Object { hash, contestant, trials } = object;
        format!("{} as `{}` ({trials} trials)", short(hash), contestant.name)
    };
    let place = if is_simulated { "in the simulator" } else { "on kernels" };
    format!(
        "`{name}` ran {place} as {} objects, so not one compiler with one set of headers made \
         them; each is a contestant of its own: {}.",
        known.len(),
        known.iter().map(each).collect::<Vec<_>>().join(", ")
    )
}

fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::OBJECT;
    use model::{Outcome, Trial};

    fn record(name: &str, object: Option<&str>) -> Record {
        let mut trial = Trial::default();
        trial.contestant.name = name.into();
        let mut record = Record::without_measurement(trial, Outcome::Ok, Default::default());
        let object = object.map(|hash| (OBJECT.to_owned(), hash.to_owned()));
        record.provenance.programs = object.into_iter().collect();
        record
    }

    #[test]
    fn each_further_object_is_a_contestant_with_the_same_trial() {
        let one = [("mine", Some("11aa22bb33")), ("kernel", None), ("other", Some("11aa22bb33"))];
        let mut records: Vec<Record> = one.map(|(name, object)| record(name, object)).into();
        assert!(name_objects_if_several(&mut records).is_empty());
        records.push(record("mine", Some("44dd55ee66")));
        let trial = records[0].trial.id();
        let notes = name_objects_if_several(&mut records);
        let names: Vec<&str> = records.iter().map(|r| r.trial.contestant.name.as_str()).collect();
        assert_eq!(names, ["mine", "kernel", "other", "mine (object 44dd55ee)"]);
        assert_eq!((records[0].trial.id(), records[3].trial.id()), (trial.clone(), trial));
        let [note] = notes.as_slice() else { panic!("{notes:?}") };
        let said = "11aa22bb as `mine` (1 trials), 44dd55ee as `mine (object 44dd55ee)` (1 trials)";
        assert!(note.contains(said) && note.contains("not one compiler"), "{note}");
    }
}
