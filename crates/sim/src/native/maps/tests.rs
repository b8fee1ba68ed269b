// SPDX-License-Identifier: GPL-2.0-only
//! Maps as schedulers use them.

use compile::native::{Map as Fact, SymbolRange};

use super::EXIST;
use super::*;

fn fact(name: &str, kind: u32, max_entries: u32) -> Fact {
    Fact {
        value: None,
        name: name.into(),
        place: SymbolRange::default(),
        kind,
        key_size: 4,
        value_size: 8,
        max_entries,
        flags: 0,
        extra: 0,
        inner_at: None,
        inner: None,
        types: None,
        special: Vec::new(),
    }
}

fn map(kind: u32, max_entries: u32) -> Box<Map> {
    Map::new(&fact("tested", kind, max_entries), 3).expect("the model has it")
}

#[test]
fn a_map_has_room() {
    let new = |kind| Map::new(&fact("tested", kind, 0), 3);
    for kind in [kinds::HASH, kinds::RINGBUF, kinds::ARENA] {
        assert!(new(kind).is_err_and(|why| why.contains("maps.tested = N")), "{kind}");
    }
    assert!(new(kinds::TASK_STORAGE).is_ok() && new(kinds::PERF_EVENT_ARRAY).is_ok());
}

fn update(map: &mut Map, key: u32, value: u64, flags: u64) -> i64 {
    let (key, value) = (key.to_ne_bytes(), value.to_ne_bytes());
    // SAFETY: four bytes of key and eight of value, as `map` says.
    unsafe { map.update(key.as_ptr(), value.as_ptr(), flags, 1) }
}

fn get(map: &mut Map, key: u32, cpu: u32) -> Option<u64> {
    // SAFETY: as above.
    let value = unsafe { map.lookup(key.to_ne_bytes().as_ptr(), cpu) };
    // SAFETY: values have eight bytes.
    (!value.is_null()).then(|| unsafe { value.cast::<u64>().read() })
}

#[test]
fn arrays_begin_with_zeros_and_end() {
    let mut array = map(kinds::ARRAY, 4);
    assert_eq!(get(&mut array, 3, 0), Some(0));
    assert_eq!(update(&mut array, 3, 7, 0), 0);
    assert_eq!((get(&mut array, 3, 0), get(&mut array, 4, 0)), (Some(7), None));
    assert_eq!(update(&mut array, 4, 7, 0), errno::E2BIG);
    assert_eq!(update(&mut array, 3, 7, NOEXIST), errno::EEXIST);
}

#[test]
fn every_cpu_has_its_own_values() {
    for kind in [kinds::PERCPU_ARRAY, kinds::PERCPU_HASH] {
        let mut own = map(kind, 4);
        assert_eq!(update(&mut own, 2, 7, 0), 0);
        assert_eq!([0, 1, 2].map(|cpu| get(&mut own, 2, cpu)), [Some(0), Some(7), Some(0)]);
        assert_eq!(get(&mut own, 2, 3), None);
    }
}

#[test]
fn hashes_keep_what_they_are_given() {
    let mut hash = map(kinds::HASH, 100);
    for key in 0..100 {
        assert_eq!(update(&mut hash, key * 977, u64::from(key), NOEXIST), 0);
    }
    assert_eq!(update(&mut hash, 5, 5, 0), errno::E2BIG);
    assert_eq!(update(&mut hash, 977, 1, NOEXIST), errno::EEXIST);
    assert_eq!(update(&mut hash, 5, 5, EXIST), errno::ENOENT);
    for key in (0..100u32).filter(|key| key % 2 == 0) {
        // SAFETY: four bytes of key.
        assert_eq!(unsafe { hash.delete((key * 977).to_ne_bytes().as_ptr()) }, 0);
    }
    for key in 0..100u32 {
        let expected = (key % 2 == 1).then_some(u64::from(key));
        assert_eq!(get(&mut hash, key * 977, 0), expected);
    }
    assert_eq!(hash.entries(0).len(), 50);
}

#[test]
fn a_full_lru_forgets_the_longest_unused() {
    let mut lru = map(kinds::LRU_HASH, 2);
    update(&mut lru, 1, 1, 0);
    update(&mut lru, 2, 2, 0);
    assert_eq!(get(&mut lru, 1, 0), Some(1));
    assert_eq!(update(&mut lru, 3, 3, 0), 0);
    assert_eq!([1, 2, 3].map(|key| get(&mut lru, key, 0)), [Some(1), None, Some(3)]);
}

#[test]
fn queues_and_stacks_have_their_order() {
    for (kind, expected) in [(kinds::QUEUE, [1, 2]), (kinds::STACK, [2, 1])] {
        let mut queue = map(kind, 2);
        let mut push =
            |value: u64, flags| unsafe { queue.push(value.to_ne_bytes().as_ptr(), flags) };
        assert_eq!([push(1, 0), push(2, 0), push(3, 0)], [0, 0, errno::E2BIG]);
        let mut pop = |stay| {
            let mut value = [9; 8];
            // SAFETY: eight bytes.
            let result = unsafe { queue.pop(value.as_mut_ptr(), stay) };
            (result, u64::from_ne_bytes(value))
        };
        assert_eq!(pop(true), (0, expected[0]));
        assert_eq!([pop(false), pop(false)], expected.map(|value| (0, value)));
        assert_eq!(pop(false), (errno::ENOENT, 0));
    }
}

#[test]
fn storage_is_made_found_and_forgotten() {
    let mut storage = map(kinds::TASK_STORAGE, 0);
    let initial = 5u64.to_ne_bytes();
    // SAFETY: eight bytes of value.
    let mut get = |task, create| unsafe { storage.storage(task, create, initial.as_ptr()) };
    assert!(get(700, false).is_null());
    let value = get(700, true);
    // SAFETY: a value of eight bytes.
    assert_eq!(unsafe { value.cast::<u64>().read() }, 5);
    assert_eq!((get(700, false), get(701, false).is_null()), (value, true));
    assert_eq!((storage.storage_delete(700), storage.storage_delete(700)), (0, errno::ENOENT));
}

#[test]
fn ring_buffers_give_memory_until_it_is_settled() {
    let mut map = map(kinds::RINGBUF, 4096);
    let ring = map.ring().expect("it is one");
    let (first, second) = (ring.reserve(12), ring.reserve(8));
    // SAFETY: twelve bytes are reserved.
    unsafe { first.write_bytes(7, 12) };
    assert!(ring.settle(second) && ring.settle(first) && !ring.settle(first));
    assert!(ring.reserve(u64::MAX).is_null());
}

#[test]
fn a_kind_that_the_model_lacks_is_named() {
    let refusal = Map::new(&fact("routes", 11, 1), 1).err().expect("tries are not modelled");
    let words = ["routes", "BPF_MAP_TYPE_LPM_TRIE"];
    assert!(words.iter().all(|word| refusal.contains(word)), "{refusal}");
}

#[test]
fn an_update_leaves_out_what_the_kernel_manages() {
    let special = vec![(0, 4)];
    let mut map = Map::new(&Fact { special, ..fact("managed", kinds::ARRAY, 1) }, 1)
        .expect("the model has it");
    let (key, value) = (0u32.to_ne_bytes(), u64::MAX.to_ne_bytes());
    // SAFETY: the map's sizes.
    unsafe {
        assert_eq!(map.update(key.as_ptr(), value.as_ptr(), 0, 0), 0);
        assert_eq!(map.lookup(key.as_ptr(), 0).cast::<u64>().read(), u64::MAX << 32);
    }
}

#[test]
fn a_bloom_filter_has_as_many_hash_functions_as_it_asks_for() {
    let bits_of = |extra| {
        let fact = Fact { extra, ..fact("seen", kinds::BLOOM_FILTER, 1000) };
        let mut map = Map::new(&fact, 1).expect("the model has it");
        let Form::Bloom(bloom) = &mut map.form else { panic!("a filter") };
        assert_eq!(bloom.add(&7_u32.to_ne_bytes(), 0), 0);
        (bloom.peek(&7_u32.to_ne_bytes()), bloom.bits_set())
    };
    assert_eq!([1, 0, 15].map(bits_of), [(0, 1), (0, 5), (0, 15)]);
    let fact = Fact { extra: 16, ..fact("seen", kinds::BLOOM_FILTER, 1000) };
    let refusal = Map::new(&fact, 1).err().expect("a kernel makes none");
    assert!(refusal.contains("map_extra = 16"), "{refusal}");
}
