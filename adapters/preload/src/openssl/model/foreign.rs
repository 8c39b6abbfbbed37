//! What the model needs of a libcrypto.

use super::sync::{AppendList, Arc};
use super::{Event, Registration};

/// The memory of one store, and the sources that can be put there.
pub trait Foreign: Sized {
    /// The certificates of one source.
    type Source;
    /// One of them, by its place.
    type Index: Copy;
    /// How subjects are told apart.
    type Subject;
    /// A certificate that somebody else keeps alive.
    type Certificate: Copy;
    /// A certificate that is kept alive.
    type Held;
    /// What memory held.
    type Base;
    /// See [`Foreign::quietly`].
    type Quiet<'q>
    where
        Self: 'q;

    /// What is done until the value is dropped leaves no error behind.
    fn quietly(&self) -> Self::Quiet<'_>;

    /// Before 4.0 the objects are one stack, whose order shows. Later they are a table, until the program asks for a
    /// stack.
    fn keeps_a_stack(&self) -> bool;

    /// All certificates of a subject come into memory in one step, whoever adds them.
    fn adds_as_one(&self) -> bool;

    /// What libcrypto adds on its own account is seen.
    fn shows_additions(&self) -> bool;

    /// Whether two sources hold the same certificates in the same order.
    fn is_same(&self, a: &Self::Source, b: &Self::Source) -> bool;

    /// All of a source.
    fn all<'s>(&self, source: &'s Self::Source) -> impl Iterator<Item = Self::Index> + use<'s, Self>;

    /// Those of one subject, in the order of the source.
    fn of_subject<'s>(
        &self,
        source: &'s Self::Source,
        subject: &Self::Subject,
    ) -> impl Iterator<Item = Self::Index> + use<'s, Self>;

    /// The subjects that several of a source share. `None` if there is no memory for them.
    fn shared_subjects<'s>(
        &self,
        source: &'s Self::Source,
    ) -> Option<impl Iterator<Item = Self::Subject> + use<'s, Self>>;

    /// A number for each of a source.
    fn number(index: Self::Index) -> u32;

    /// What is equal of equal certificates.
    fn encoding<'s>(&self, source: &'s Self::Source, index: Self::Index) -> &'s [u8];

    /// Whether the certificate itself was made before.
    fn is_made(&self, source: &Self::Source, index: Self::Index) -> bool;

    /// Makes the certificate itself, if it was not made before. The store's lock need not be held.
    fn make(&self, source: &Self::Source, index: Self::Index);

    /// The certificate itself; `None` if it can't be made now. Making one can run code of the program.
    fn certificate(&self, source: &Self::Source, index: Self::Index) -> Option<Self::Certificate>;

    /// The subject of a certificate; `None` if it can't be told.
    fn subject(&self, certificate: &Self::Held) -> Option<Self::Subject>;

    /// Adds a certificate as `X509_STORE_add_cert` does: what is there already is not added again.
    fn add(&self, certificate: Self::Certificate) -> bool;

    /// The certificate that is held.
    fn held(certificate: &Self::Held) -> Self::Certificate;

    /// Adds certificates of a subject of which memory has none: all or, where it can be done, none; in one step if
    /// `adds_as_one`. `is_exposed`: the program has the stack.
    fn add_together(&self, certificates: &[Self::Certificate], is_exposed: bool) -> bool;

    /// Whether different certificates of one subject would come together of which stock makes something that depends on
    /// its version. `in_memory`: memory may hold something.
    fn is_contested(
        &self,
        registered: &AppendList<Arc<Registration<Self>>>,
        source: &Self::Source,
        is_first: bool,
        in_memory: bool,
    ) -> bool;

    /// Whether something in memory has a subject of which something is registered that memory does not hold.
    fn hides_something(&self, registered: &AppendList<Arc<Registration<Self>>>) -> bool;

    /// How many objects memory holds, where that can be told at once.
    fn count(&self) -> Option<usize>;

    /// Whether the stack was sorted by a search since something was appended.
    fn is_sorted(&self) -> bool;

    /// Makes the stack count as unsorted.
    fn forget_sortedness(&self);

    /// What a stack holds; `None` if nothing.
    fn base(&self) -> Option<Self::Base>;

    /// What is equal of equal certificates.
    fn held_encoding(&self, certificate: &Self::Held) -> Option<Vec<u8>>;

    /// Gives the objects the order that an eager store would have after these events.
    fn arrange<'e>(&self, events: impl Iterator<Item = &'e Event<Self>>, searched: bool)
    where
        Self: 'e;
}
