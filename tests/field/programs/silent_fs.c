/* silent_fs FOLDER PROGRAM ARGUMENT…: runs a program while FOLDER is a file system that never answers, as one of a
 * server that is gone. Only this program and its children see it. Its requests wait until this one ends
 * (fs/fuse/dev.c). */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char options[100];
    int device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%u,group_id=%u", device, getuid(), getgid());
    if (argc < 3 || device < 0 || unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("silent", argv[1], "fuse.silent", 0, options) != 0) {
        perror("silent_fs");
        return 2;
    }
    pid_t child = fork();
    if (child == 0) {
        execv(argv[2], argv + 2);
        _exit(127);
    }
    int status = -1;
    waitpid(child, &status, 0);
    printf("status: %d\n", status);
    return status != 0;
}
