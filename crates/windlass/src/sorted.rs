//! Sorting without recursion. The standard library's quicksort takes up to 30 KiB of stack for a large store, and
//! threads of programs may have only 16 KiB (`PTHREAD_STACK_MIN`).

use std::collections::BinaryHeap;

/// The items in ascending order. Allocates nothing, and takes a few hundred bytes of stack.
pub(crate) fn sorted<T: Ord>(items: Vec<T>) -> Vec<T> {
    if items.is_sorted() { items } else { BinaryHeap::from(items).into_sorted_vec() }
}
