// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use proptest::prelude::*;

fn queues(tasks: u32) -> Queues {
    let mut queues = Queues::default();
    (0..tasks).for_each(|_| queues.add_task());
    queues.add_queue(0);
    queues
}

fn order(queues: &Queues) -> Vec<u32> {
    let first = queues.first(0);
    std::iter::successors((first != NONE).then_some(first), |&task| {
        let next = queues.next(task);
        (next != NONE).then_some(next)
    })
    .collect()
}

#[test]
fn head_goes_first_and_the_rest_in_order_of_arrival() {
    let mut queues = queues(4);
    queues.insert(0, 0, false).unwrap();
    queues.insert(0, 1, false).unwrap();
    queues.insert(0, 2, true).unwrap();
    assert_eq!(order(&queues), [2, 0, 1]);
    assert_eq!(queues.insert_ordered(0, 3, 5), Err(Mixed::HasFifo));
}

#[test]
fn equal_keys_keep_their_order_and_keys_wrap() {
    let mut queues = queues(4);
    queues.insert_ordered(0, 0, 3).unwrap();
    queues.insert_ordered(0, 1, u64::MAX - 3).unwrap();
    queues.insert_ordered(0, 2, 3).unwrap();
    assert_eq!(order(&queues), [1, 0, 2]);
    assert_eq!(queues.insert(0, 3, false), Err(Mixed::HasOrdered));
    (0..3).for_each(|task| queues.remove(task));
    assert_eq!(queues.insert(0, 3, false), Ok(()));
}

#[test]
fn an_iterator_sees_neither_newcomers_nor_the_removed() {
    let mut queues = queues(6);
    (0..4).for_each(|task| queues.insert(0, task, false).unwrap());
    let cursor = queues.open_cursor(0, false);
    assert_eq!(queues.advance(cursor), 0);
    queues.remove(1);
    queues.insert(0, 4, true).unwrap();
    queues.insert(0, 5, false).unwrap();
    assert_eq!([0; 3].map(|_| queues.advance(cursor)), [2, 3, NONE]);
    queues.close_cursor(cursor);
    let back = queues.open_cursor(0, true);
    assert_eq!([0; 3].map(|_| queues.advance(back)), [5, 3, 2]);
    assert!(queues.cursor_sees(back, 0) && !queues.cursor_sees(back, 1));
}

proptest! {
    /// Against a plain vector: same order after any sequence of insertions and removals.
    #[test]
    fn the_order_is_that_of_a_stable_sort(
        steps in prop::collection::vec((0u32..40, 0u64..12), 0..300),
    ) {
        let mut queues = queues(40);
        let mut naive: Vec<(u64, u32)> = Vec::new();
        for (task, key) in steps {
            if let Some(at) = naive.iter().position(|&(_, other)| other == task) {
                naive.remove(at);
                queues.remove(task);
            } else {
                let at = naive.partition_point(|&(other, _)| other <= key);
                naive.insert(at, (key, task));
                queues.insert_ordered(0, task, key).unwrap();
            }
            let expected: Vec<u32> = naive.iter().map(|&(_, task)| task).collect();
            prop_assert_eq!(order(&queues), expected);
            prop_assert_eq!(queues.len(0) as usize, naive.len());
        }
    }
}
