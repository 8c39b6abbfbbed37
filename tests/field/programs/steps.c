/* steps STEP…: loads, asks, calls and closes in the given order. Each step is one argument; H is a letter of a handle,
 * or `default` or `next`.
 *
 *   open H FLAGS PATH    dlopen. FLAGS: lazy or now, global, deepbind, joined by commas
 *   close H              dlclose
 *   loaded PATH          whether it is loaded
 *   ask                  a dlsym that finds nothing new
 *   find H NAME          dlsym: the function is kept
 *   version H NAME VERSION   the same by dlvsym
 *   small H NAME         dlsym on a thread with the smallest stack that there is
 *   call                 the function that was found
 *   fail PATH            a dlopen that fails
 *   error                dlerror
 *   thread               from now on there is another thread
 *   lock                 there is one that holds the linker's lock, in a callback of dl_iterate_phdr
 *   fork                 what follows is done by a child
 *   leave                exit, with all that libraries do then
 *
 * Where it is linked against a libcrypto (FUNCTIONS):
 *
 *   ready                libcrypto has been initialized
 *   store, made          a store from X509_STORE_new, or from the function that was found, with a CA file loaded
 *   count                how many objects it has
 *   list                 the same by the function that was found, X509_STORE_get0_objects
 *   enumerate            the same by a plugin that has left its function in `plugin_enumerate`
 *   verify               a good and an untrusted chain */
#include "linker.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALLEST 16384 /* bits/pthread_stack_min.h */

#ifdef PER_THREAD
__thread char per_thread PER_THREAD;
#endif
void *host_store;
void (*plugin_enumerate)(void);

#ifdef FUNCTIONS
#include "late.h"

static void load(void *store) {
    host_store = store;
    printf("load: %d\n", X509_STORE_load_locations(host_store, path_of("BUNDLE"), NULL));
}

#define NO_CONFIGURATION 0x80 /* OPENSSL_INIT_NO_LOAD_CONFIG */
int OPENSSL_init_crypto(unsigned long options, const void *settings);

static int with_store(const char *what, void *function) {
    if (strcmp(what, "ready") == 0)
        OPENSSL_init_crypto(NO_CONFIGURATION, NULL);
    else if (strcmp(what, "store") == 0)
        load(X509_STORE_new());
    else if (strcmp(what, "made") == 0)
        load(((void *(*)(void))function)());
    else if (strcmp(what, "count") == 0)
        count("host", host_store);
    else if (strcmp(what, "list") == 0)
        printf("listed: %d objects\n", OPENSSL_sk_num(((void *(*)(void *))function)(host_store)));
    else if (strcmp(what, "verify") == 0) {
        verify("good", host_store, "CHAIN");
        verify("untrusted", host_store, "UNTRUSTED");
    } else
        return 0;
    return 1;
}
#else
static int with_store(const char *what, void *function) {
    (void)what, (void)function;
    return 0;
}
#endif

/* For the resolver of a plugin (resolver.c), which runs while that is being loaded. */
void *asks_the_linker(void) { return dlsym(RTLD_DEFAULT, "getauxval"); }

static void *handles['z' + 1];

static void *handle_of(const char *word) {
    if (strcmp(word, "default") == 0)
        return RTLD_DEFAULT;
    return strcmp(word, "next") == 0 ? RTLD_NEXT : handles[(unsigned char)word[0]];
}

static int flags_of(const char *words) {
    return (strstr(words, "lazy") ? RTLD_LAZY : RTLD_NOW) | (strstr(words, "global") ? RTLD_GLOBAL : 0) |
           (strstr(words, "deepbind") ? RTLD_DEEPBIND : 0);
}

static void *idle(void *nothing) {
    for (;;)
        pause();
    return nothing;
}

static sem_t is_locked;

static int hold(struct dl_phdr_info *object, size_t size, void *nothing) {
    (void)object, (void)size;
    sem_post(&is_locked);
    idle(nothing);
    return 1;
}

static void *holding(void *nothing) {
    dl_iterate_phdr(hold, nothing);
    return nothing;
}

struct question {
    void *handle;
    const char *name;
    void *answer;
};

/* Prints nothing: that needs more stack than this thread has. */
static void *question(void *argument) {
    struct question *asked = argument;
    asked->answer = dlsym(asked->handle, asked->name);
    return NULL;
}

static void *on_small_stack(void *handle, const char *name) {
    struct question asked = {handle, name, NULL};
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, SMALLEST);
    if (pthread_create(&thread, &attributes, question, &asked) != 0)
        exit(2);
    pthread_join(thread, NULL);
    return asked.answer;
}

/* Only the child comes back. */
static void in_child(void) {
    pid_t child = fork();
    if (child == 0)
        return;
    int status = 0;
    waitpid(child, &status, 0);
    printf("status of the child: %d\n", status);
    exit(status != 0);
}

static void *found;

static void report(const char *name) { printf("%s: %s\n", name, found != NULL ? "found" : "not found"); }

static int step(const char *text) {
    char what[16], one[1000] = "", two[1000] = "", three[1000] = "";
    pthread_t thread;
    sscanf(text, "%15s %999s %999s %999s", what, one, two, three);
    if (strcmp(what, "open") == 0)
        handles[(unsigned char)one[0]] = opened(three, flags_of(two));
    else if (strcmp(what, "close") == 0)
        printf("closed: %d\n", dlclose(handle_of(one)));
    else if (strcmp(what, "loaded") == 0)
        printf("loaded: %d\n", dlopen(one, RTLD_LAZY | RTLD_NOLOAD) != NULL);
    else if (strcmp(what, "ask") == 0)
        dlsym(RTLD_DEFAULT, "getpid");
    else if (strcmp(what, "find") == 0) {
        found = dlsym(handle_of(one), two);
        report(two);
    } else if (strcmp(what, "version") == 0) {
        found = dlvsym(handle_of(one), two, three);
        report(two);
    } else if (strcmp(what, "small") == 0) {
        found = on_small_stack(handle_of(one), two);
        report(two);
    } else if (strcmp(what, "call") == 0)
        ((void *(*)(void *, void *))found)(NULL, NULL);
    else if (strcmp(what, "fail") == 0)
        printf("opened: %d\n", dlopen(one, RTLD_NOW) != NULL);
    else if (strcmp(what, "error") == 0) {
        const char *error = dlerror();
        printf("error: %s\n", error ? error : "none");
    } else if (strcmp(what, "thread") == 0)
        pthread_create(&thread, NULL, idle, NULL);
    else if (strcmp(what, "lock") == 0) {
        sem_init(&is_locked, 0, 0);
        pthread_create(&thread, NULL, holding, NULL);
        sem_wait(&is_locked);
    } else if (strcmp(what, "fork") == 0)
        in_child();
    else if (strcmp(what, "leave") == 0)
        exit(0);
    else if (strcmp(what, "enumerate") == 0)
        plugin_enumerate();
    else
        return with_store(what, found);
    return 1;
}

int main(int argc, char **argv) {
    begin();
    for (int i = 1; i < argc; i++)
        if (!step(argv[i]))
            return 2;
    printf("end\n");
    /* Without the ends of what is still loaded: another thread may hold the linker's lock. */
    fflush(stdout);
    _exit(0);
}
