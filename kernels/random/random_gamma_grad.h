/*
 * random_gamma_grad.h - how samples of gamma distributions move with alpha.
 *
 * Threads: the one that builds the graph.
 */
#ifndef TFD_KERNELS_RANDOM_GAMMA_GRAD_H
#define TFD_KERNELS_RANDOM_GAMMA_GRAD_H

#include "kernels/core/kernel.h"

/* RandomGamma: samples lie before the dimensions of alpha. */
enum tfd_code tfd_random_gamma_gradient(struct tfd_grad *g,
                                        struct tfd_status *st);
/* StatelessRandomGammaV2, V3: the shape is that of the whole. */
enum tfd_code tfd_random_gamma_stateless_gradient(struct tfd_grad *g,
                                                  struct tfd_status *st);

#endif
