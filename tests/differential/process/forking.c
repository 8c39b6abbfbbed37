/*
 * forking OBJECT FORKS: children that open a shared object, forked while threads make stores. OpenSSL takes no lock of
 * the dynamic linker for a store, so no child may wait for one.
 */
#include <openssl/x509.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int stop;

static void *run(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
        X509_STORE_free(X509_STORE_new());
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    int hung = 0;

    if (argc != 3)
        return 2;
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < atoi(argv[2]); i++) {
        int status;
        pid_t child = fork();

        if (child == 0) {
            /* Only ends a child that would wait for ever. */
            alarm(20);
            _exit(dlopen(argv[1], RTLD_NOW) == NULL);
        }
        if (waitpid(child, &status, 0) != child || (WIFEXITED(status) && WEXITSTATUS(status) != 0))
            return 3;
        hung += WIFSIGNALED(status);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d hung\n", hung);
    return hung != 0;
}
