/* Records and payloads in and out of files, as the protocol wants it of a producer. */
#define _POSIX_C_SOURCE 200809L

#include "producer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

/* Says in one line what cannot be done, and ends. */
void die(const char *format, ...)
{
    va_list values;

    fputs("c-producer: ", stderr);
    va_start(values, format);
    vfprintf(stderr, format, values);
    va_end(values);
    fputc('\n', stderr);
    exit(EXIT_BAD_USAGE);
}

void *allocate(size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);

    if (memory == NULL)
        die("no memory for %zu bytes", bytes);
    return memory;
}

/* A module's file, or a device: nothing can be renamed over it. */
static int is_in_place(const char *path)
{
    struct stat status;
    struct statfs system;

    if (stat(path, &status) != 0)
        return 0;
    if (!S_ISREG(status.st_mode))
        return 1;
    return statfs(path, &system) == 0 && system.f_type == DEBUGFS_MAGIC;
}

static void write_all(int file, const char *path, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t written = write(file, data, bytes);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            die("write %s: %s", path, strerror(errno));
        data += written;
        bytes -= (size_t)written;
    }
}

/* Puts the whole there at once: nobody ever reads half of it. */
void put_whole(const char *path, const void *data, size_t bytes)
{
    char beside[4096];
    int file;

    if (is_in_place(path)) {
        file = open(path, O_WRONLY);
        if (file < 0)
            die("open %s: %s", path, strerror(errno));
        /* In one call: a module takes all of it, or refuses it. */
        if (write(file, data, bytes) != (ssize_t)bytes)
            die("write %s: %s", path, strerror(errno));
        close(file);
        return;
    }
    if (snprintf(beside, sizeof beside, "%s.%ld", path, (long)getpid()) >= (int)sizeof beside)
        die("%s: the path is too long", path);
    file = open(beside, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0)
        die("open %s: %s", beside, strerror(errno));
    write_all(file, beside, data, bytes);
    if (close(file) != 0 || rename(beside, path) != 0)
        die("rename %s: %s", beside, strerror(errno));
}

/* Reads up to so many bytes from the file's start, and tells how many; 0 where there is no file. */
size_t get_start(const char *path, void *data, size_t bytes)
{
    size_t got = 0;
    int file = open(path, O_RDONLY | O_NONBLOCK);

    if (file < 0)
        return 0;
    while (got < bytes) {
        ssize_t count = read(file, (char *)data + got, bytes - got);

        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        got += (size_t)count;
    }
    close(file);
    return got;
}

/* A whole file; `bytes` becomes its size. */
unsigned char *get_file(const char *path, size_t *bytes)
{
    struct stat status;
    unsigned char *data;

    if (stat(path, &status) != 0)
        die("%s: %s", path, strerror(errno));
    *bytes = (size_t)status.st_size;
    data = allocate(*bytes);
    if (get_start(path, data, *bytes) != *bytes)
        die("read %s: it is shorter than it says", path);
    return data;
}
