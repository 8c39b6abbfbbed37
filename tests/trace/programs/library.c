/* What a program can do to the trace library, one thing a mode. Prints what it sees, ends with 0. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int objects(X509_STORE *store) {
    return sk_X509_OBJECT_num(X509_STORE_get0_objects(store));
}

static int load(const char *file) {
    X509_STORE *store = X509_STORE_new();
    int result = X509_STORE_load_locations(store, file, NULL), held = objects(store);
    X509_STORE_free(store);
    return result == 1 ? held : -1;
}

/* A call's result, and what it leaves in errno. */
#define SAY(call) (errno = 77, say((call)))

static void say(long result) {
    int error = errno;
    printf("%ld/%d ", result, error);
}

/* Each loading function once, from outside. */
static void entries(const char *file, const char *folder, const char *uri) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    X509_STORE *store = X509_STORE_new();
    X509_LOOKUP *files = X509_STORE_add_lookup(store, X509_LOOKUP_file());
    X509_LOOKUP *folders = X509_STORE_add_lookup(store, X509_LOOKUP_hash_dir());
    STACK_OF(X509_NAME) *names = sk_X509_NAME_new_null(), *more;

    SAY(SSL_CTX_set_default_verify_paths(context));
    SAY(SSL_CTX_set_default_verify_file(context));
    SAY(SSL_CTX_set_default_verify_dir(context));
    SAY(SSL_CTX_load_verify_locations(context, file, folder));
    SAY(SSL_CTX_load_verify_locations(context, NULL, NULL));
    SAY(X509_STORE_set_default_paths(store));
    SAY(X509_STORE_load_locations(store, file, NULL));
    SAY(X509_LOOKUP_ctrl(files, X509_L_FILE_LOAD, file, X509_FILETYPE_PEM, NULL));
    SAY(X509_LOOKUP_ctrl(folders, X509_L_ADD_DIR, folder, X509_FILETYPE_PEM, NULL));
    SAY(X509_load_cert_file(files, file, X509_FILETYPE_PEM));
    SAY(X509_load_cert_crl_file(files, file, X509_FILETYPE_PEM));
    SAY(X509_load_cert_crl_file(files, "/nonexistent", X509_FILETYPE_PEM));
    SAY((more = SSL_load_client_CA_file(file)) != NULL);
    printf("%d ", sk_X509_NAME_num(more));
    SAY(SSL_add_file_cert_subjects_to_stack(names, file));
    SAY(SSL_add_dir_cert_subjects_to_stack(names, folder));
#if OPENSSL_VERSION_NUMBER >= 0x30000000
    SAY(SSL_CTX_set_default_verify_store(context));
    SAY(SSL_CTX_load_verify_file(context, file));
    SAY(SSL_CTX_load_verify_dir(context, folder));
    SAY(SSL_CTX_load_verify_store(context, uri));
    SAY(X509_STORE_set_default_paths_ex(store, NULL, NULL));
    SAY(X509_STORE_load_file(store, file));
    SAY(X509_STORE_load_file_ex(store, file, NULL, NULL));
    SAY(X509_STORE_load_path(store, folder));
    SAY(X509_STORE_load_store(store, uri));
    SAY(X509_STORE_load_store_ex(store, uri, NULL, NULL));
    SAY(X509_STORE_load_locations_ex(store, file, NULL, NULL, NULL));
    SAY(X509_LOOKUP_ctrl_ex(files, X509_L_FILE_LOAD, file, X509_FILETYPE_PEM, NULL, NULL, NULL));
    SAY(X509_load_cert_file_ex(files, file, X509_FILETYPE_PEM, NULL, NULL));
    SAY(X509_load_cert_crl_file_ex(files, file, X509_FILETYPE_PEM, NULL, NULL));
    SAY(SSL_add_store_cert_subjects_to_stack(names, uri));
#else
    (void)uri;
#endif
    printf("\n%d\n", objects(store));
    ERR_print_errors_fp(stdout);
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    sk_X509_NAME_pop_free(more, X509_NAME_free);
    X509_STORE_free(store);
    SSL_CTX_free(context);
}

/* Certificates that the program parses by itself, into two stores in turn; the second is freed with a reference
 * left. */
static void add(const char *file) {
    X509_STORE *stores[2] = {X509_STORE_new(), X509_STORE_new()};
    FILE *from = fopen(file, "r");
    X509 *certificate;
    int count = 0;
    while (from && (certificate = PEM_read_X509(from, NULL, NULL, NULL))) {
        for (int i = 0; i < 2; i++)
            count += X509_STORE_add_cert(stores[i], certificate);
        count += X509_STORE_add_cert(stores[0], certificate);
        X509_free(certificate);
    }
    if (from)
        fclose(from);
    X509_STORE_up_ref(stores[1]);
    X509_STORE_free(stores[1]);
    printf("%d\n", count);
    fflush(stdout);
    X509_STORE_free(stores[0]);
    X509_STORE_free(stores[1]);
}

static const char *shared_file;

static void *loading(void *times) {
    for (int i = 0; i < *(int *)times; i++)
        if (load(shared_file) < 1)
            abort();
    return NULL;
}

static void threads(int count, int times) {
    pthread_t all[64];
    for (int i = 0; i < count; i++)
        if (pthread_create(&all[i], NULL, loading, &times))
            abort();
    for (int i = 0; i < count; i++)
        pthread_join(all[i], NULL);
    printf("%d\n", load(shared_file));
}

/* A child of a process that has gathered something and loaded something; then the child's child by exec. */
static void children(char *self, char *file) {
    X509_STORE *store = X509_STORE_new();
    FILE *from = fopen(file, "r");
    X509 *certificate = from ? PEM_read_X509(from, NULL, NULL, NULL) : NULL;
    int status;
    printf("%d %d\n", X509_STORE_add_cert(store, certificate), load(file));
    fflush(stdout);
    if (fork() == 0) {
        char *arguments[] = {self, "load", file, NULL};
        printf("%d\n", load(file));
        fflush(stdout);
        if (fork() == 0)
            execv(self, arguments);
        wait(&status);
        X509_STORE_free(store);
        exit(0);
    }
    wait(&status);
    X509_free(certificate);
    X509_STORE_free(store);
    fclose(from);
}

static volatile int enough;

static void *loading_on(void *nothing) {
    while (!enough)
        if (load(shared_file) < 1)
            abort();
    return nothing;
}

/* Children that are forked while other threads load. They only do what needs no lock of libcrypto that one of those may
 * hold. */
static void forks(int count) {
    pthread_t all[4];
    FILE *from = fopen(shared_file, "r");
    X509 *certificate = from ? PEM_read_X509(from, NULL, NULL, NULL) : NULL;
    int status = 0, good = 0;
    for (int i = 0; i < 4; i++)
        if (pthread_create(&all[i], NULL, loading_on, NULL))
            abort();
    for (int i = 0; i < count; i++) {
        X509_STORE *store = X509_STORE_new();
        pid_t child = fork();
        if (child == 0)
            _exit(X509_STORE_add_cert(store, certificate));
        X509_STORE_free(store);
        good += waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1;
    }
    enough = 1;
    for (int i = 0; i < 4; i++)
        pthread_join(all[i], NULL);
    X509_free(certificate);
    fclose(from);
    printf("%d\n", good);
}

static sigjmp_buf before;

static void jump(int signal) {
    (void)signal;
    siglongjmp(before, 1);
}

static void *waiting(void *fifo) {
    return (void *)(long)load(fifo);
}

/* Whether the thread waits in read(2) (or open(2)) of the FIFO. */
static void until_waiting(const char *task) {
    char path[64], line[64];
    snprintf(path, sizeof path, "/proc/self/task/%s/syscall", task);
    for (;;) {
        FILE *file = fopen(path, "r");
        int found = file && fgets(line, sizeof line, file)
            && (strncmp(line, "0 ", 2) == 0 || strncmp(line, "257 ", 4) == 0);
        if (file)
            fclose(file);
        if (found)
            return;
        usleep(1000);
    }
}

static void *signalling(void *thread) {
    char task[16];
    snprintf(task, sizeof task, "%d", getpid());
    until_waiting(task);
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
    return NULL;
}

/* A load that is left by longjmp, and one that is cancelled; then another. */
static void leave(char *fifo, char *file) {
    pthread_t thread, self = pthread_self();
    int keep = open(fifo, O_RDWR);
    signal(SIGUSR1, jump);
    if (sigsetjmp(before, 1) == 0) {
        pthread_create(&thread, NULL, signalling, &self);
        load(fifo);
        abort();
    }
    pthread_join(thread, NULL);
    printf("%d\n", load(file));

    void *result = NULL;
    pthread_create(&thread, NULL, waiting, fifo);
    for (int found = 0; !found; usleep(1000)) {
        DIR *tasks = opendir("/proc/self/task");
        struct dirent *task;
        while ((task = readdir(tasks)))
            if (atoi(task->d_name) > 0 && atoi(task->d_name) != getpid()) {
                until_waiting(task->d_name);
                found = 1;
            }
        closedir(tasks);
    }
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("%s %d\n", result == PTHREAD_CANCELED ? "cancelled" : "not cancelled", load(file));
    close(keep);
}

static void descriptors(const char *when) {
    DIR *all = opendir("/proc/self/fd");
    struct dirent *one;
    printf("%s", when);
    while ((one = readdir(all)))
        if (one->d_name[0] != '.' && atoi(one->d_name) != dirfd(all))
            printf(" %s", one->d_name);
    printf("\n");
    closedir(all);
}

/* Code at a fixed address that takes the address of `malloc` makes the linker give that one in the executable. */
void *(*volatile allocates)(size_t);

int main(int count, char **arguments) {
    allocates = malloc;
    char *mode = count > 1 ? arguments[1] : "", *file = count > 2 ? arguments[2] : NULL;
    shared_file = file;
    if (strcmp(mode, "load") == 0)
        printf("%d\n", load(file));
    else if (strcmp(mode, "entries") == 0 && count > 4)
        entries(file, arguments[3], arguments[4]);
    else if (strcmp(mode, "add") == 0)
        add(file);
    else if (strcmp(mode, "threads") == 0)
        threads(8, 4);
    else if (strcmp(mode, "children") == 0)
        children(arguments[0], file);
    else if (strcmp(mode, "forks") == 0)
        forks(60);
    else if (strcmp(mode, "leave") == 0 && count > 3)
        leave(arguments[3], file);
    else if (strcmp(mode, "descriptors") == 0) {
        descriptors("before:");
        printf("%d\n", load(file));
        descriptors("after:");
    } else
        return 2;
    return fflush(stdout) != 0;
}
