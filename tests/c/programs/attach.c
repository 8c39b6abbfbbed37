/* attach [OTHER]: attaches, after opening another file of the preload library if there is an argument, and loads the
 * default paths twice. Prints the state, the error, and the counters; says so if a child can't do the same. */
#include <dlfcn.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <windlass.h>

static int load(void)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    int loaded = SSL_CTX_set_default_verify_paths(context);
    SSL_CTX_free(context);
    return loaded;
}

int main(int count, char **arguments)
{
    windlass_error error = {0};
    char status[8192], *counters;
    int state, child_status;
    if (count > 1 && !dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL))
        return 2;
    state = windlass_attach(&error);
    printf("%s\n%d %s\n%s\n", windlass_state_text(state), error.code, error.path, error.text);
    if (!load() || !load())
        return 3;
    windlass_status(status, sizeof status);
    counters = strstr(status, "counter served/");
    printf("%s\n%s", windlass_state_text(windlass_state()), counters ? counters : "nothing served\n");
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(load() && windlass_attach(NULL) == (state == WINDLASS_ATTACHED ? WINDLASS_ALREADY : state) ? 0 : 1);
    if (waitpid(child, &child_status, 0) != child || child_status != 0)
        printf("the child ended with %x\n", (unsigned)child_status);
    if (windlass_detach() !=
        (state == WINDLASS_SECURE || state == WINDLASS_UNAVAILABLE ? WINDLASS_NOT_LOADED : WINDLASS_DETACHED))
        printf("not detached\n");
    return !load();
}
