// SPDX-License-Identifier: GPL-2.0-only
//! Dispatch queues: ordered lists of tasks, by arrival or by virtual time.
//!
//! As in the kernel, every queue is a doubly linked list in its final order. In a queue ordered by
//! virtual time, a tree over the same tasks finds the position of a new task. Nodes are indexed by
//! task, so that inserting allocates nothing. The tree is a treap whose priorities are hashes of
//! the task's number: balanced in expectation, and the same in every trial.

use crate::core::memory::reserve_room;

/// "No task", "no queue".
pub const NONE: u32 = u32::MAX;

/// A task's place in a queue.
#[derive(Clone, Copy, Debug)]
struct Node {
    key: u64,
    next: u32,
    previous: u32,
    left: u32,
    right: u32,
    parent: u32,
    sequence: u32,
    queue: u32,
    ordered: bool,
}

const FREE: Node = Node {
    key: 0,
    next: NONE,
    previous: NONE,
    left: NONE,
    right: NONE,
    parent: NONE,
    sequence: 0,
    queue: NONE,
    ordered: false,
};

#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Its number for schedulers; `DSQ_INVALID` once destroyed.
    pub id: u64,
    /// What schedulers see of it.
    pub shown: *const ShownQueue,
    pub len: u32,
    pub lock: super::queues::SharedLock,
    /// Whether a callback has ever taken a task from it.
    pub is_taken_from: bool,
    head: u32,
    tail: u32,
    root: u32,
    sequence: u32,
}

/// `struct scx_dispatch_q` of the schedulers' headers.
#[repr(C)]
pub struct ShownQueue {
    id: u64,
    nr: u32,
}

/// An iterator of a scheduler over a queue.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    queue: u32,
    next: u32,
    reverse: bool,
    /// Tasks that joined later are skipped.
    sequence: u32,
    open: bool,
}

/// Why a task could not join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mixed {
    /// An insertion by virtual time into a queue in order of arrival.
    HasFifo,
    /// An insertion in order of arrival into a queue ordered by virtual time.
    HasOrdered,
}

/// All queues and all tasks' places in them.
#[derive(Default)]
pub struct Queues {
    nodes: Vec<Node>,
    pub queues: Vec<Queue>,
    /// What schedulers see, where it never moves.
    #[expect(clippy::vec_box)]
    shown: Vec<Box<ShownQueue>>,
    cursors: Vec<Cursor>,
    open_cursors: u32,
}

impl Queues {
    pub fn reserve_tasks(&mut self, tasks: usize) {
        reserve_room(&mut self.nodes, tasks);
    }

    /// Adds the node of the next task.
    pub fn add_task(&mut self) {
        self.nodes.push(FREE);
    }

    pub fn add_queue(&mut self, id: u64) -> u32 {
        let shown = Box::new(ShownQueue { id, nr: 0 });
        let empty = Queue {
            id,
            shown: &raw const *shown,
            len: 0,
            lock: Default::default(),
            is_taken_from: false,
            head: NONE,
            tail: NONE,
            root: NONE,
            sequence: 0,
        };
        self.shown.push(shown);
        self.queues.push(empty);
        self.queues.len() as u32 - 1
    }

    /// The queue that the task is in, or [`NONE`].
    pub fn queue_of(&self, task: u32) -> u32 {
        self.nodes[task as usize].queue
    }

    /// The first task, or [`NONE`].
    pub fn first(&self, queue: u32) -> u32 {
        self.queues[queue as usize].head
    }

    /// The task after this one, or [`NONE`].
    pub fn next(&self, task: u32) -> u32 {
        self.nodes[task as usize].next
    }

    pub fn len(&self, queue: u32) -> u32 {
        self.queues[queue as usize].len
    }

    /// Adds a task in order of arrival, at the head or the tail.
    #[inline]
    pub fn insert(&mut self, queue: u32, task: u32, head: bool) -> Result<(), Mixed> {
        if self.queues[queue as usize].root != NONE {
            return Err(Mixed::HasOrdered);
        }
        let after = if head { NONE } else { self.queues[queue as usize].tail };
        self.link(queue, task, after);
        Ok(())
    }

    /// Adds a task ordered by virtual time, after all tasks with an equal key.
    pub fn insert_ordered(&mut self, queue: u32, task: u32, key: u64) -> Result<(), Mixed> {
        let Queue { root, tail, .. } = self.queues[queue as usize];
        if root == NONE && tail != NONE {
            return Err(Mixed::HasFifo);
        }
        self.nodes[task as usize].key = key;
        self.nodes[task as usize].ordered = true;
        let before = self.attach(queue, task, key);
        self.link(queue, task, before);
        Ok(())
    }

    #[inline]
    pub fn remove(&mut self, task: u32) {
        let Node { queue, next, previous, ordered, .. } = self.nodes[task as usize];
        if queue == NONE {
            return;
        }
        if self.open_cursors > 0 {
            self.pass_cursors(task, next, previous);
        }
        if ordered {
            self.detach(queue, task);
        }
        let ends = &mut self.queues[queue as usize];
        ends.len -= 1;
        self.shown[queue as usize].nr = ends.len;
        match previous {
            NONE => ends.head = next,
            _ => self.nodes[previous as usize].next = next,
        }
        match next {
            NONE => self.queues[queue as usize].tail = previous,
            _ => self.nodes[next as usize].previous = previous,
        }
        let node = &mut self.nodes[task as usize];
        (node.queue, node.next, node.previous, node.ordered) = (NONE, NONE, NONE, false);
    }

    #[inline]
    fn link(&mut self, queue: u32, task: u32, after: u32) {
        let ends = &mut self.queues[queue as usize];
        ends.len += 1;
        self.shown[queue as usize].nr = ends.len;
        ends.sequence = ends.sequence.wrapping_add(1);
        let sequence = ends.sequence;
        let next = match after {
            NONE => std::mem::replace(&mut ends.head, task),
            _ => std::mem::replace(&mut self.nodes[after as usize].next, task),
        };
        match next {
            NONE => self.queues[queue as usize].tail = task,
            _ => self.nodes[next as usize].previous = task,
        }
        let node = &mut self.nodes[task as usize];
        (node.queue, node.next, node.previous, node.sequence) = (queue, next, after, sequence);
    }

    /// Inserts the task into the tree and returns the task before it.
    fn attach(&mut self, queue: u32, task: u32, key: u64) -> u32 {
        let Queue { root, tail, .. } = self.queues[queue as usize];
        let node = &mut self.nodes[task as usize];
        (node.left, node.right, node.parent) = (NONE, NONE, NONE);
        if root == NONE {
            self.queues[queue as usize].root = task;
            return NONE;
        }
        // Virtual time mostly grows, so the tail is the most likely position.
        let (mut at, mut follows) = (root, NONE);
        if !earlier(key, self.nodes[tail as usize].key) {
            (at, follows) = (tail, tail);
        } else {
            loop {
                let here = &self.nodes[at as usize];
                let child = if earlier(key, here.key) {
                    here.left
                } else {
                    follows = at;
                    here.right
                };
                if child == NONE {
                    break;
                }
                at = child;
            }
        }
        self.nodes[task as usize].parent = at;
        if follows == at {
            self.nodes[at as usize].right = task;
        } else {
            self.nodes[at as usize].left = task;
        }
        while self.nodes[task as usize].parent != NONE
            && weight(task) < weight(self.nodes[task as usize].parent)
        {
            self.rotate_up(queue, task);
        }
        follows
    }

    fn detach(&mut self, queue: u32, task: u32) {
        loop {
            let Node { left, right, parent, .. } = self.nodes[task as usize];
            let child = match (left, right) {
                (NONE, only) | (only, NONE) => {
                    self.replace_child(queue, parent, task, only);
                    return;
                }
                _ if weight(left) < weight(right) => left,
                _ => right,
            };
            self.rotate_up(queue, child);
        }
    }

    fn rotate_up(&mut self, queue: u32, child: u32) {
        let parent = self.nodes[child as usize].parent;
        let above = self.nodes[parent as usize].parent;
        let moved = if self.nodes[parent as usize].left == child {
            let moved = std::mem::replace(&mut self.nodes[child as usize].right, parent);
            self.nodes[parent as usize].left = moved;
            moved
        } else {
            let moved = std::mem::replace(&mut self.nodes[child as usize].left, parent);
            self.nodes[parent as usize].right = moved;
            moved
        };
        if moved != NONE {
            self.nodes[moved as usize].parent = parent;
        }
        self.nodes[parent as usize].parent = child;
        self.replace_child(queue, above, parent, child);
    }

    fn replace_child(&mut self, queue: u32, parent: u32, old: u32, new: u32) {
        if parent == NONE {
            self.queues[queue as usize].root = new;
        } else if self.nodes[parent as usize].left == old {
            self.nodes[parent as usize].left = new;
        } else {
            self.nodes[parent as usize].right = new;
        }
        if new != NONE {
            self.nodes[new as usize].parent = parent;
        }
    }
}

impl Queues {
    /// Starts an iterator over the tasks that are in the queue now.
    pub fn open_cursor(&mut self, queue: u32, reverse: bool) -> u32 {
        let Queue { head, tail, sequence, .. } = self.queues[queue as usize];
        let next = if reverse { tail } else { head };
        let cursor = Cursor { queue, next, reverse, sequence, open: true };
        self.open_cursors += 1;
        let free = self.cursors.iter().position(|cursor| !cursor.open);
        let number = free.unwrap_or(self.cursors.len());
        match free {
            Some(number) => self.cursors[number] = cursor,
            None => self.cursors.push(cursor),
        }
        number as u32
    }

    /// The next task, or [`NONE`] at the end.
    pub fn advance(&mut self, cursor: u32) -> u32 {
        let Cursor { mut next, reverse, sequence, .. } = self.cursors[cursor as usize];
        let skipped = |node: &Node| (sequence.wrapping_sub(node.sequence) as i32) < 0;
        while next != NONE && skipped(&self.nodes[next as usize]) {
            next = self.neighbour(next, reverse);
        }
        self.cursors[cursor as usize].next =
            if next == NONE { NONE } else { self.neighbour(next, reverse) };
        next
    }

    pub fn close_cursor(&mut self, cursor: u32) {
        if let Some(cursor) = self.cursors.get_mut(cursor as usize).filter(|cursor| cursor.open) {
            cursor.open = false;
            self.open_cursors -= 1;
        }
    }

    /// Whether the task joined before the cursor was opened and is still in its queue.
    pub fn cursor_sees(&self, cursor: u32, task: u32) -> bool {
        let (cursor, node) = (&self.cursors[cursor as usize], &self.nodes[task as usize]);
        node.queue == cursor.queue && (cursor.sequence.wrapping_sub(node.sequence) as i32) >= 0
    }

    fn neighbour(&self, task: u32, reverse: bool) -> u32 {
        let node = &self.nodes[task as usize];
        if reverse { node.previous } else { node.next }
    }

    fn pass_cursors(&mut self, task: u32, next: u32, previous: u32) {
        for cursor in self.cursors.iter_mut().filter(|c| c.open && c.next == task) {
            cursor.next = if cursor.reverse { previous } else { next };
        }
    }
}

/// The kernel's `time_before64`: right as long as keys lie within 2^63 of each other.
fn earlier(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

fn weight(task: u32) -> u32 {
    let hash = (u64::from(task) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (hash >> 32) as u32
}

#[cfg(test)]
mod tests;
