/* Finds and loads the preload library, and calls its functions for windlass.rb.
 *
 * One binary serves CRuby 2.7 and newer: it uses a few functions of Ruby whose signatures have not changed, no macro
 * and no structure of ruby.h, and no constant but the form of small integers. It is linked with -nostdlib, so it asks
 * for no version of glibc; the process has dlopen and dlsym, as Ruby uses them. */

#include <dlfcn.h>
#include <stddef.h>

typedef unsigned long VALUE;

VALUE rb_define_module(const char *);
VALUE rb_define_module_under(VALUE, const char *);
void rb_define_singleton_method(VALUE, const char *, VALUE (*)(), int);
VALUE rb_str_new(const char *, long);
VALUE rb_str_new_cstr(const char *);
char *rb_string_value_cstr(VALUE *);
char *rb_string_value_ptr(VALUE *);
void rb_ext_ractor_safe(_Bool) __attribute__((weak)); /* Ruby 3.0 */

/* Kept: a forked child must not need the dynamic linker's locks. The preload library is never unloaded. */
static int (*attach_function)(void);
static int (*detach_function)(void);
static int (*state_function)(void);
static size_t (*status_function)(char *, size_t);

static int default_store_was_first;
static char failure_text[512]; /* why the library could not be loaded */

static VALUE integer(long number) { return (VALUE)number << 1 | 1; }

static int find_in(void *library) {
    void *status = dlsym(library, "windlass_preload_status");
    void *state = dlsym(library, "windlass_preload_state");
    void *detach = dlsym(library, "windlass_preload_detach");
    void *attach = dlsym(library, "windlass_preload_attach");
    if (!status || !state || !detach || !attach)
        return 0;
    *(void **)&status_function = status;
    *(void **)&state_function = state;
    *(void **)&detach_function = detach;
    *(void **)&attach_function = attach;
    return 1;
}

/* 1 if the library is in this process. It may have come with LD_PRELOAD, from another path. */
static VALUE find(VALUE self, VALUE path) {
    void *library;
    (void)self;
    if (attach_function || find_in(RTLD_DEFAULT))
        return integer(1);
    library = dlopen(rb_string_value_cstr(&path), RTLD_NOW | RTLD_NOLOAD);
    return integer(library && find_in(library));
}

/* 1 if the library is in this process now. */
static VALUE load(VALUE self, VALUE path) {
    void *library = dlopen(rb_string_value_cstr(&path), RTLD_NOW);
    const char *why = library && find_in(library) ? "" : dlerror();
    size_t at = 0;
    (void)self;
    for (; why && why[at] && at + 1 < sizeof failure_text; at++)
        failure_text[at] = why[at];
    failure_text[at] = 0;
    return integer(!at);
}

static VALUE failure(VALUE self) { return (void)self, rb_str_new_cstr(failure_text); }

static VALUE state(VALUE self) { return (void)self, integer(state_function()); }

static VALUE detach(VALUE self) { return (void)self, integer(detach_function()); }

/* `note`: whether Ruby's default store exists already. */
static VALUE attach(VALUE self, VALUE note) {
    (void)self;
    default_store_was_first |= note == integer(1);
    return integer(attach_function());
}

static VALUE was_default_store_first(VALUE self) { return (void)self, integer(default_store_was_first); }

static VALUE status(VALUE self) {
    size_t length = status_function(NULL, 0);
    (void)self;
    for (;;) {
        /* Another thread may count meanwhile. */
        size_t room = length + 256;
        volatile VALUE text = rb_str_new(NULL, (long)room);
        VALUE kept = text;
        char *at = rb_string_value_ptr(&kept);
        length = status_function(at, room);
        if (length < room)
            return rb_str_new(at, (long)length);
    }
}

/* By this the preload library knows this file, which asks dlsym for nothing but its functions. */
void windlass_ruby(void) {}

void Init_native(void) {
    VALUE native = rb_define_module_under(rb_define_module("Windlass"), "Native");
    if (rb_ext_ractor_safe)
        rb_ext_ractor_safe(1);
    rb_define_singleton_method(native, "find", find, 1);
    rb_define_singleton_method(native, "load", load, 1);
    rb_define_singleton_method(native, "failure", failure, 0);
    rb_define_singleton_method(native, "state", state, 0);
    rb_define_singleton_method(native, "attach", attach, 1);
    rb_define_singleton_method(native, "detach", detach, 0);
    rb_define_singleton_method(native, "default_store_first", was_default_store_first, 0);
    rb_define_singleton_method(native, "status", status, 0);
}
