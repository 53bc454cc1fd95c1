/*
 * same_host.h - the short way between two processes of one host.
 *
 * A Unix socket costs a third of a TCP connection to the same host: no
 * segments, no acknowledgements, and the kernel runs the reader where the
 * writer was.  So whoever listens on IP:PORT also listens on an abstract Unix
 * socket with the name "tfd IP:PORT" ("tfd *:PORT" on every interface), and
 * whoever dials looks there first.  Abstract names belong to the network
 * namespace as ports do, and end with their process.
 *
 * Anybody may take a name, so the one who dials goes on by TCP unless the
 * listener is of the same user, of root or of one that --allow_uid names.
 *
 * Threads: any.
 */
#ifndef TFD_RPC_SAME_HOST_H
#define TFD_RPC_SAME_HOST_H

#include <stdbool.h>

struct sockaddr;
struct tfd_allow;

/* A listening socket beside the one bound to this address; -1 when there is
 * none, as in a system without abstract names. */
int tfd_same_host_listen(const struct sockaddr *bound, int backlog);
/* A connected socket to who listens on this address, if it is one of these
 * users ("any" makes nobody one), or -1: take TCP. */
int tfd_same_host_connect(const struct sockaddr *to,
                          const struct tfd_allow *allow);
/* "unix:PID" of who has connected; text has TFD_PEER_TEXT_MAX bytes. */
void tfd_same_host_peer_text(int fd, char *text);

#endif
