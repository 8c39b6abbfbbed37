/* containers COUNT BASE FILE [own]: so many containers, as kubelet's cgroupfs driver names them: two in a pod, with a
   process in each that has opened the file and waits. BASE is a mounted hierarchy of version 2. With "own", each has a
   mount namespace of its own. All is gone after a line of input. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char pod[4096], group[4200], procs[4300];

static void name(const char *base, int number)
{
    snprintf(pod, sizeof pod, "%s/kubepods/pod00000000-0000-0000-0000-%012d", base, number / 2);
    snprintf(group, sizeof group, "%s/%064d", pod, number);
    snprintf(procs, sizeof procs, "%s/cgroup.procs", group);
}

static int child(const char *file, int has_own, int told)
{
    char byte;
    int own = open(procs, O_WRONLY), source;
    if (own < 0 || write(own, "0", 1) != 1 || (has_own && unshare(CLONE_NEWNS)))
        return 1;
    close(own);
    source = open(file, O_RDONLY);
    if (source < 0 || read(source, &byte, 1) != 1)
        return 1;
    close(source);
    if (write(told, "x", 1) != 1)
        return 1;
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    int count = atoi(argv[1]), told[2];
    pid_t *children = calloc(count, sizeof *children);
    char byte, all[4096];
    if (argc < 4 || !children || pipe(told))
        return 1;
    snprintf(all, sizeof all, "%s/kubepods", argv[2]);
    mkdir(all, 0755);
    for (int number = 0; number < count; number++) {
        name(argv[2], number);
        mkdir(pod, 0755);
        mkdir(group, 0755);
        children[number] = fork();
        if (children[number] == 0)
            _exit(child(argv[3], argc > 4, told[1]));
        if (children[number] < 0 || read(told[0], &byte, 1) != 1)
            return 1;
    }
    puts("ready");
    fflush(stdout);
    (void)getchar();
    for (int number = 0; number < count; number++)
        kill(children[number], SIGKILL);
    while (wait(NULL) > 0)
        ;
    for (int number = count - 1; number >= 0; number--) {
        name(argv[2], number);
        rmdir(group);
        rmdir(pod);
    }
    return rmdir(all);
}
