//! Tables of the functions that a foreign library defines, and its opaque types.

/// Declares opaque types.
#[macro_export]
macro_rules! opaque {
    ($($name:ident)*) => { $(
        #[doc = concat!("The opaque `", stringify!($name), "`.")]
        #[repr(C)]
        pub struct $name([u8; 0]);
    )* };
}

/// Declares a table of functions, found by name. `as required`: all of them must exist; `as optional`: each is an
/// `Option`.
#[macro_export]
macro_rules! functions {
    ($(#[$meta:meta])* $struct:ident { $($name:ident: fn($($arg:ty),*) $(-> $ret:ty)?;)* } as $kind:ident) => {
        $(#[$meta])*
        pub struct $struct { $(
            #[doc = concat!("`", stringify!($name), "`")]
            pub $name: $crate::functions!(@type $kind fn($($arg),*) $(-> $ret)?),
        )* }
        impl $struct {
            /// Fills the table. For required functions, `None` if one is missing.
            ///
            /// # Safety
            /// `find` must return the address of the function of that name, as its library declares it, or null.
            pub unsafe fn load(find: impl Fn(&core::ffi::CStr) -> *mut core::ffi::c_void) -> Option<Self> {
                Some($struct { $($name: {
                    let address = find($crate::name!($name));
                    // SAFETY: a null pointer is None; any other address is a function of this type, as the caller
                    // states.
                    let function = unsafe {
                        std::mem::transmute::<
                            *mut core::ffi::c_void,
                            Option<unsafe extern "C-unwind" fn($($arg),*) $(-> $ret)?>,
                        >(address)
                    };
                    $crate::functions!(@take $kind function)
                },)* })
            }
        }
    };
    (@type required fn($($arg:ty),*) $(-> $ret:ty)?) => { unsafe extern "C-unwind" fn($($arg),*) $(-> $ret)? };
    (@type optional fn($($arg:ty),*) $(-> $ret:ty)?) => { Option<unsafe extern "C-unwind" fn($($arg),*) $(-> $ret)?> };
    (@take required $function:ident) => { $function? };
    (@take optional $function:ident) => { $function };
}
