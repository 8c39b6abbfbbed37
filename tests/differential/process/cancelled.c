/* cancelled FIFO FILE: a thread that is cancelled while libcrypto waits for a FIFO; then a load of FILE. */
#include <dirent.h>
#include <fcntl.h>
#include <openssl/x509.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int load(const char *file) {
    X509_STORE *store = X509_STORE_new();
    int result = X509_STORE_load_locations(store, file, NULL);
    X509_STORE_free(store);
    return result;
}

static void *waiting(void *fifo) {
    load(fifo);
    return NULL;
}

/* Whether a thread of this process other than the first one sleeps in open or read. */
static int is_waiting(void) {
    int found = 0;
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    while ((task = readdir(tasks))) {
        int id = atoi(task->d_name);
        char path[64], call[16] = "";
        snprintf(path, sizeof path, "/proc/self/task/%d/syscall", id);
        FILE *file = id > 0 && id != getpid() ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        /* 0: read, 257: openat (x86-64); 63 and 56 (AArch64). */
        int number = fgets(call, sizeof call, file) ? atoi(call) : -1;
        found |= strncmp(call, "running", 7) != 0 && (number == 0 || number == 257 || number == 63 || number == 56);
        fclose(file);
    }
    closedir(tasks);
    return found;
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    pthread_t thread;
    void *result = NULL;
    int first = load(argv[2]);
    pthread_create(&thread, NULL, waiting, argv[1]);
    while (!is_waiting())
        usleep(1000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("%d, %s, %d\n", first, result == PTHREAD_CANCELED ? "cancelled" : "not cancelled", load(argv[2]));
    return 0;
}
