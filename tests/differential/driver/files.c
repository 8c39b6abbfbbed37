/* Changes to files, directories and the environment between calls. */
#include "script.h"
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void done(const char *what, int result)
{
    if (result != 0)
        say("%s: %s", what, strerror(errno));
    errno = 0;
}

static void env_set(args *a)
{
    if (str(a, 2) == NULL)
        unsetenv(str(a, 1));
    else
        setenv(str(a, 1), str(a, 2), 1);
}

static void dir_change(args *a) { done("cd", chdir(str(a, 1))); }
static void dir_make(args *a) { done("mkdir", mkdir(str(a, 1), 0755)); }
static void file_remove(args *a) { done("rm", unlink(str(a, 1))); }
static void file_rename(args *a) { done("mv", rename(str(a, 1), str(a, 2))); }
static void file_link(args *a) { done("ln", symlink(str(a, 1), str(a, 2))); }
static void file_mode(args *a) { done("chmod", chmod(str(a, 2), (mode_t)strtol(str(a, 1), NULL, 8))); }
static void file_cut(args *a) { done("truncate", truncate(str(a, 2), num(a, 1))); }

/* cp FROM TO (rewritten in place), cat FROM TO (appended) */
static void copy(args *a, int flags)
{
    char buffer[65536];
    int from = open(str(a, 1), O_RDONLY | O_CLOEXEC);
    int to = open(str(a, 2), O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
    ssize_t n;

    if (from < 0 || to < 0)
        die("copy %s %s", str(a, 1), str(a, 2));
    while ((n = read(from, buffer, sizeof(buffer))) > 0)
        if (write(to, buffer, (size_t)n) != n)
            die("write %s", str(a, 2));
    close(from);
    close(to);
}

static void file_copy(args *a) { copy(a, O_TRUNC); }
static void file_append(args *a) { copy(a, O_APPEND); }

/* times FILE SECONDS NANOSECONDS: modification and access time */
static void file_times(args *a)
{
    struct timespec t[2];

    t[0].tv_sec = t[1].tv_sec = num(a, 2);
    t[0].tv_nsec = t[1].tv_nsec = num(a, 3);
    done("utimensat", utimensat(AT_FDCWD, str(a, 1), t, 0));
}

/* as UID: drops root's rights on files; "as 0" takes them back */
static void user_change(args *a)
{
    done("setegid", num(a, 1) == 0 ? 0 : setegid((gid_t)num(a, 1)));
    done("seteuid", seteuid((uid_t)num(a, 1)));
    done("setegid", num(a, 1) == 0 ? setegid(0) : 0);
}

/* root DIR: the files of before are out of reach afterwards */
static void root_change(args *a)
{
    done("chroot", chroot(str(a, 1)) != 0 || chdir("/") != 0 ? -1 : 0);
}

/* mapped NAME: whether a library of that name is in this process */
static void mapped(args *a)
{
    char text[4096];
    FILE *maps = fopen("/proc/self/maps", "re");
    int found = 0;

    while (maps != NULL && fgets(text, sizeof(text), maps) != NULL)
        found |= strstr(text, str(a, 1)) != NULL;
    if (maps != NULL)
        fclose(maps);
    say("mapped %s %d", str(a, 1), found);
}

/* secure: whether the kernel asked for secure execution (setuid and the like) */
static void secure(args *a)
{
    (void)a;
    say("secure execution %lu", getauxval(AT_SECURE));
}

/* bytes_read: how much this process read so far, from whatever file */
static void bytes_read(args *a)
{
    unsigned long long n = 0;
    FILE *io = fopen("/proc/self/io", "re");

    (void)a;
    if (io == NULL || fscanf(io, "rchar: %llu", &n) != 1)
        die("cannot read /proc/self/io");
    fclose(io);
    say("bytes_read %llu", n);
}

/*
 * compile FILE: its compiled store is made, where the harness wants compiled
 * stores (WINDLASS_TEST_COMPILE names the command). Never seen in the output.
 */
static void compile(args *a)
{
    char store[4096], *program = getenv("WINDLASS_TEST_COMPILE"), *where = getenv("WINDLASS_STORE");
    char *words[] = { program, "compile", "--force", (char *)str(a, 1), NULL };
    char *clean[] = { "PATH=/usr/bin:/bin", store, NULL }; /* not under the preload library */
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status;

    if (program == NULL)
        return;
    snprintf(store, sizeof(store), "WINDLASS_STORE=%s", where == NULL ? "" : where);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (posix_spawn(&child, program, &actions, NULL, words, clean) != 0
            || waitpid(child, &status, 0) != child)
        die("cannot run %s", program);
    posix_spawn_file_actions_destroy(&actions);
    errno = 0;
}

/* Everything this process has open beyond what it started with would be a leak. */
static void descriptors(args *a)
{
    int fd, n = 0;

    (void)a;
    for (fd = 3; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) != -1;
    say("descriptors %d", n);
}

const command file_commands[] = {
    { "env", env_set },
    { "cd", dir_change },
    { "mkdir", dir_make },
    { "rm", file_remove },
    { "mv", file_rename },
    { "ln", file_link },
    { "chmod", file_mode },
    { "truncate", file_cut },
    { "cp", file_copy },
    { "cat", file_append },
    { "times", file_times },
    { "as", user_change },
    { "root", root_change },
    { "mapped", mapped },
    { "secure", secure },
    { "bytes_read", bytes_read },
    { "compile", compile },
    { "descriptors", descriptors },
    { NULL, NULL },
};
