/*
 * sdca_loss.c - see sdca.h.
 *
 * Where the best dual variable has no formula, ten steps of Newton find it: he
 * doubles the digits with each.
 */
#include "kernels/linear/sdca.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#define NEWTON_STEPS 10

/* By how much an example pulls at itself. */
static double pull(const struct tfd_sdca_example *e)
{
    return e->partitions * e->norm * e->weight;
}

/* ---- Logistic ------------------------------------------------------------ */

/* The dual variable is (1 + tanh x) / 2, times the label. */
static double logistic_dual(const struct tfd_sdca_example *e)
{
    double x = 0;

    for (int i = 0; i < NEWTON_STEPS; i++) {
        const double t = tanh(x);
        const double value = -2 * e->label * x - e->wx -
                             pull(e) * (0.5 * (1 + t) / e->label - e->dual);
        const double slope =
            -2 * e->label - pull(e) * (1 - t * t) * 0.5 / e->label;

        x -= value / slope;
    }
    return 0.5 * (1 + tanh(x)) / e->label;
}

static double logistic_primal(double wx, double label, double weight)
{
    const double y = label * wx;

    return y > 0 ? log1p(exp(-y)) * weight : (log1p(exp(y)) - y) * weight;
}

static double entropy_of(double p)
{
    return p > 0 ? p * log(p) : 0;
}

static double logistic_dual_loss(double dual, double label, double weight)
{
    const double p = dual * label;

    return (entropy_of(p) + entropy_of(1 - p)) * weight;
}

static double logistic_slope(double wx, double label)
{
    const double y = label * wx, e = exp(-fabs(y));

    return -(y > 0 ? e / (1 + e) : 1 / (1 + e)) * label;
}

/* ---- Squared ------------------------------------------------------------- */

static double squared_dual(const struct tfd_sdca_example *e)
{
    return e->dual + (e->label - e->dual - e->wx) / (1 + pull(e));
}

static double squared_primal(double wx, double label, double weight)
{
    const double error = wx - label;

    return error * error * weight * 0.5;
}

static double squared_dual_loss(double dual, double label, double weight)
{
    return dual * (0.5 * dual - label) * weight;
}

static double squared_slope(double wx, double label)
{
    return wx - label;
}

/* ---- Hinges -------------------------------------------------------------- */

/* Between 0 and the label. */
static double between(double dual, double label)
{
    if (label * dual < 0)
        return 0;
    return label * dual > 1 ? label : dual;
}

static double hinge_dual(const struct tfd_sdca_example *e)
{
    return between(e->dual + (e->label - e->wx) / pull(e), e->label);
}

static double hinge_primal(double wx, double label, double weight)
{
    return fmax(0, 1 - label * wx) * weight;
}

static double hinge_dual_loss(double dual, double label, double weight)
{
    const double y = dual * label;

    return y < 0 || y > 1 ? DBL_MAX : -y * weight;
}

static double hinge_slope(double wx, double label)
{
    return label * wx < 1 ? -label : 0;
}

static double smooth_dual(const struct tfd_sdca_example *e)
{
    return between(e->dual + (e->label - e->wx - e->dual) / (pull(e) + 1),
                   e->label);
}

static double smooth_primal(double wx, double label, double weight)
{
    const double y = label * wx;

    if (y >= 1)
        return 0;
    return y <= 0 ? (0.5 - y) * weight : (1 - y) * (1 - y) * weight * 0.5;
}

static double smooth_dual_loss(double dual, double label, double weight)
{
    const double y = dual * label;

    return y < 0 || y > 1 ? DBL_MAX : (-y + 0.5 * dual * dual) * weight;
}

static double smooth_slope(double wx, double label)
{
    if (label * wx >= 1)
        return 0;
    return label * wx <= 0 ? -label : wx - label;
}

/* ---- Poisson ------------------------------------------------------------- */

static double poisson_dual(const struct tfd_sdca_example *e)
{
    const double rest = e->label - e->dual;
    double x = rest > 0 ? log(rest) : 0;

    for (int i = 0; i < NEWTON_STEPS; i++) {
        const double grown = exp(x);

        x -= (x - e->wx - pull(e) * (rest - grown)) / (1 + pull(e) * grown);
    }
    return e->label - exp(x);
}

static double poisson_primal(double wx, double label, double weight)
{
    return (exp(wx) - wx * label) * weight;
}

static double poisson_dual_loss(double dual, double label, double weight)
{
    const double rest = label - dual;

    if (rest == 0)
        return 0;
    return rest < 0 ? DBL_MAX : rest * (log(rest) - 1) * weight;
}

static double poisson_slope(double wx, double label)
{
    return exp(wx) - label;
}

/* ---- By name ------------------------------------------------------------- */

static const struct tfd_sdca_loss losses[] = {
    {"logistic_loss", 4, true, logistic_dual, logistic_primal,
     logistic_dual_loss, logistic_slope},
    {"squared_loss", 1, false, squared_dual, squared_primal, squared_dual_loss,
     squared_slope},
    {"hinge_loss", 0, true, hinge_dual, hinge_primal, hinge_dual_loss,
     hinge_slope},
    {"smooth_hinge_loss", 1, true, smooth_dual, smooth_primal, smooth_dual_loss,
     smooth_slope},
    {"poisson_loss", 1, false, poisson_dual, poisson_primal, poisson_dual_loss,
     poisson_slope},
};

enum tfd_code tfd_sdca_loss_of(struct tfd_str name,
                               const struct tfd_sdca_loss **out,
                               struct tfd_status *st)
{
    for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
        if (tfd_str_is(name, losses[i].name)) {
            *out = &losses[i];
            return TFD_OK;
        }
    return tfd_fail(st, TFD_INVALID_ARGUMENT,
                    "Unsupported loss type: " TFD_STR_FMT, TFD_STR_ARG(name));
}

enum tfd_code tfd_sdca_label(const struct tfd_sdca_loss *l, float *label,
                             struct tfd_status *st)
{
    if (!l->binary) {
        if (l->slope != poisson_slope || *label >= 0)
            return TFD_OK;
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Only non-negative labels can be used with the Poisson "
                        "log loss. Found example with label: %g",
                        (double)*label);
    }
    if (*label != 0 && *label != 1)
        return tfd_fail(st, TFD_INVALID_ARGUMENT,
                        "Only labels of 0.0 or 1.0 are supported right now. "
                        "Found example with label: %g",
                        (double)*label);
    if (*label == 0)
        *label = -1;
    return TFD_OK;
}
