/*
 * plugins FILE PLUGIN…: opens each, lets it load FILE, and closes it, so that
 * the next one comes to lie where it was.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int i;

    for (i = 2; i < argc; i++) {
        void *plugin = dlopen(argv[i], RTLD_NOW);
        void (*run)(const char *) = plugin == NULL ? NULL : (void (*)(const char *))dlsym(plugin, "run");

        if (run == NULL) {
            fprintf(stderr, "plugins: %s\n", dlerror());
            return 3;
        }
        run(argv[1]);
        dlclose(plugin);
    }
    return 0;
}
