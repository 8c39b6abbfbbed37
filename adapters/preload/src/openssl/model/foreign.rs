//! The operations that the model needs from a libcrypto.

use super::sync::{AppendList, Arc};
use super::{Event, Registration};

/// The memory of one store, and the sources that can be put there.
pub trait Foreign: Sized {
    /// The certificates of one source.
    type Source;
    /// A certificate of a source, by its place.
    type Index: Copy;
    /// A subject, for comparison.
    type Subject;
    /// A certificate that somebody else keeps alive.
    type Certificate: Copy;
    /// A certificate that this value keeps alive.
    type Held;
    /// The earlier contents of memory.
    type Base;
    /// See [`Foreign::quietly`].
    type Quiet<'q>
    where
        Self: 'q;

    /// Until the value is dropped, no operation leaves an error behind.
    fn quietly(&self) -> Self::Quiet<'_>;

    /// Whether the objects are one stack, whose order shows (before 4.0). Later they are a table, until the program
    /// asks for a stack.
    fn keeps_a_stack(&self) -> bool;

    /// Whether all certificates of a subject come into memory in one step, whoever adds them.
    fn adds_as_one(&self) -> bool;

    /// Whether additions that libcrypto makes by itself are seen.
    fn shows_additions(&self) -> bool;

    /// Whether two sources hold the same certificates in the same order.
    fn is_same(&self, a: &Self::Source, b: &Self::Source) -> bool;

    /// All certificates of a source.
    fn all<'s>(&self, source: &'s Self::Source) -> impl Iterator<Item = Self::Index> + use<'s, Self>;

    /// The certificates of one subject, in the order of the source.
    fn of_subject<'s>(
        &self,
        source: &'s Self::Source,
        subject: &Self::Subject,
    ) -> impl Iterator<Item = Self::Index> + use<'s, Self>;

    /// The subjects that several certificates of a source share. `None` if there is no memory for the result.
    fn shared_subjects<'s>(
        &self,
        source: &'s Self::Source,
    ) -> Option<impl Iterator<Item = Self::Subject> + use<'s, Self>>;

    /// A number for each certificate of a source.
    fn number(index: Self::Index) -> u32;

    /// The bytes that are equal for equal certificates.
    fn encoding<'s>(&self, source: &'s Self::Source, index: Self::Index) -> &'s [u8];

    /// Whether the certificate itself was already made.
    fn is_made(&self, source: &Self::Source, index: Self::Index) -> bool;

    /// Makes the certificate itself, if this was not done before. The store's lock need not be held.
    fn make(&self, source: &Self::Source, index: Self::Index);

    /// The certificate itself; `None` if it can't be made now. Making one can run the program's code.
    fn certificate(&self, source: &Self::Source, index: Self::Index) -> Option<Self::Certificate>;

    /// The subject of a certificate; `None` if it can't be determined.
    fn subject(&self, certificate: &Self::Held) -> Option<Self::Subject>;

    /// Adds a certificate as `X509_STORE_add_cert` does: one that is already there is not added again.
    fn add(&self, certificate: Self::Certificate) -> bool;

    /// The certificate that is held.
    fn held(certificate: &Self::Held) -> Self::Certificate;

    /// Adds certificates of a subject that has none in memory: all or, where this is possible, none; in one step if
    /// `adds_as_one`. `is_exposed`: the program has the stack.
    fn add_together(&self, certificates: &[Self::Certificate], is_exposed: bool) -> bool;

    /// Whether a certificate that is already in memory is always recognised when it is added again.
    fn recognises_all(&self) -> bool;

    /// Whether different certificates of one subject would come together, with a result in stock that depends on its
    /// version. `in_memory`: memory may hold something.
    fn is_contested(
        &self,
        registered: &AppendList<Arc<Registration<Self>>>,
        source: &Self::Source,
        is_first: bool,
        in_memory: bool,
    ) -> bool;

    /// Whether something in memory has the subject of a registered certificate that is not in memory.
    fn hides_something(&self, registered: &AppendList<Arc<Registration<Self>>>) -> bool;

    /// The number of objects in memory; `None` where it is not available at once.
    fn count(&self) -> Option<usize>;

    /// Whether the stack was sorted by a search since something was appended.
    fn is_sorted(&self) -> bool;

    /// Makes the stack count as unsorted.
    fn forget_sortedness(&self);

    /// The contents of a stack; `None` if it is empty.
    fn base(&self) -> Option<Self::Base>;

    /// The bytes that are equal for equal certificates.
    fn held_encoding(&self, certificate: &Self::Held) -> Option<Vec<u8>>;

    /// Gives the objects the order that an eager store would have after these events.
    fn arrange<'e>(&self, events: impl Iterator<Item = &'e Event<Self>>, searched: bool)
    where
        Self: 'e;
}
