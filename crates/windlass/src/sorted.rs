//! Sorting without recursion. The quicksort of the standard library takes up to 30 KiB of stack for a large store, and
//! threads of programs may have 16 (`PTHREAD_STACK_MIN`).

use std::collections::BinaryHeap;

/// The items in ascending order. Takes no memory, and a few hundred bytes of stack.
pub(crate) fn sorted<T: Ord>(items: Vec<T>) -> Vec<T> {
    if items.is_sorted() { items } else { BinaryHeap::from(items).into_sorted_vec() }
}
