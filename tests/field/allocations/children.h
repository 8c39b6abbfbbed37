/* Children in which allocations fail: children.c runs them, openssl.c and gnutls.c say what they do. */
#ifndef CHILDREN_H
#define CHILDREN_H

#include <stddef.h>
#include <stdint.h>

/* What is tried while memory is short, again and again with other numbers; true if something bad was trusted. */
int act(uint64_t number);
/* The same in one order, of which each kind is a part. */
int act_of_scene(int number);
/* What is asked when memory is back; the same text as in a child that was never short, or something is wrong. Zero: not
 * even that text could be made. */
int judge(char *text, size_t room);
/* Once, in the parent: what the TLS library itself makes once in a process, and would be without for good. No hooked
 * function is called. */
void warm(void);
/* Called when memory is back, for what `act` has left behind. Returns how many of its stores said that they were loaded
 * and refuse what is good; `*asked` is how many were asked. */
int look_back(int *asked);
/* Labels of counters that must have grown in `judge`, and the beginning of those that must not have. */
extern const char *const served[];
extern const char *const not_served[];
/* Objects in which no allocation fails, because the stock library dies of it; and in whose code, should it fail all the
 * same, or in what other functions, it may do so. */
extern const char *const reliant[];
extern const char *const fragile[];

/* 1 while allocations may fail. */
int is_short(void);
void arm(void), disarm(void);
/* The calling thread gets all that it asks for. */
void spare_this_thread(int on);
uint64_t mixed(uint64_t seed);

#endif
