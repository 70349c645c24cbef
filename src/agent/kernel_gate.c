/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/kernel_gate.h"
#include "agent/agent.h"
#include "base/core/mem.h"
#include "base/io/proc.h"
#include <errno.h>
#include <stdarg.h>
#include <sys/utsname.h>

#define DKMS_VERSION_FILE "/sys/module/amdgpu/version"
enum { DIGITS_MAX = 6, NUMBERS_MAX = 3 };

/* CVE-2026-46229, "drm/amdkfd: Clear VRAM on allocation": the first release of each stable series
 * with the fix. Source: the kernel's CVE announcement, 28 May 2026. Ascending; other series
 * below the last had ended without it. */
static const struct series_fix {
    int major, minor, patch;
} vram_fixes[] = {{6, 6, 140}, {6, 12, 90}, {6, 18, 32}, {7, 0, 9}};

/* Debian packages that carry a fix below those numbers. Source: amdgpu_amdkfd_gpuvm.c of the
 * package, which sets AMDGPU_GEM_CREATE_VRAM_CLEARED for KFD allocations. */
static const struct debian_fix {
    int major, minor, patch, revision;
} vram_debian[] = {{6, 1, 192, 3}};

/* Kernels up to this series have no code for a GPU. Source: linux 6.1.192-3 of Debian bookworm has
 * no GC 9.4.3 in drivers/gpu/drm/amd, and no PCI id 0x74a1. */
static const struct driverless {
    const char *gfx, *id;
    int major, minor;
} driverless[] = {{"gfx942", "gfx942-driver", 6, 1}};

/* amdgpu-dkms releases. Source: AMD-SB-6034. */
static const struct dkms_fix {
    const char *id;
    int major, minor;
} dkms_fixes[] = {{"CVE-2026-43603", 31, 40}};
/* A smaller number in the module's version is that of the kernel that it was taken from (6.14.14),
 * which does not tell the release. */
enum { DKMS_RELEASES_FROM = 30 };

enum origin { PLAIN, DEBIAN, OTHER_DISTRIBUTION };
struct kernel {
    bool readable;
    int major, minor, patch, revision; /* revision: of Debian's package */
    enum origin origin;
};

static void __attribute__((format(printf, 4, 5)))
finding(struct gate *g, const char *id, enum gate_state state, const char *fmt, ...)
{
    SL_ASSERT(g->n < GATE_FINDINGS_MAX);
    struct gate_finding *f = &g->v[g->n++];
    f->id = id;
    f->state = state;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(f->detail, sizeof f->detail, fmt, ap);
    va_end(ap);
}

/* Up to `max` numbers with dots between them; returns how many, 0 for none or one that is too long.
 * *rest is what follows. */
static int numbers(const char *s, int *v, int max, const char **rest)
{
    int n = 0;
    for (;;) {
        size_t digits = strspn(s, "0123456789");
        if (digits == 0 || digits > DIGITS_MAX)
            return 0;
        v[n] = 0;
        for (size_t i = 0; i < digits; i++)
            v[n] = v[n] * 10 + (s[i] - '0');
        s += digits;
        n++;
        if (n == max || *s != '.')
            break;
        s++;
    }
    *rest = s;
    return n;
}

/* "... Debian 6.1.192-3 (2026-09-01)" of `uname -v` */
static bool debian_package(const char *version, struct kernel *k)
{
    int v[NUMBERS_MAX], revision;
    const char *at = strstr(version, "Debian "), *rest;
    if (numbers(at + strlen("Debian "), v, NUMBERS_MAX, &rest) != NUMBERS_MAX || *rest != '-' ||
        numbers(rest + 1, &revision, 1, &rest) != 1 || v[0] != k->major || v[1] != k->minor)
        return false;
    k->patch = v[2]; /* the release's name may be an ABI's, as in 6.1.0-40-amd64 */
    k->revision = revision;
    return true;
}

static struct kernel kernel_read(const char *release, const char *version)
{
    int v[NUMBERS_MAX] = {0};
    const char *rest;
    struct kernel k = {0};
    if (numbers(release, v, NUMBERS_MAX, &rest) < 2)
        return k;
    k = (struct kernel){.readable = true, .major = v[0], .minor = v[1], .patch = v[2]};
    if (strstr(version, "Debian ")) {
        k.origin = DEBIAN;
        k.readable = debian_package(version, &k);
    } else if (*rest && strncmp(rest, "-rc", 3) != 0) {
        k.origin = OTHER_DISTRIBUTION;
    }
    return k;
}

static int series_cmp(const struct kernel *k, int major, int minor)
{
    return k->major != major ? k->major - major : k->minor - minor;
}

static bool vram_fixed(const struct kernel *k)
{
    size_t n = SL_COUNT(vram_fixes);
    for (size_t i = 0; i < n; i++)
        if (series_cmp(k, vram_fixes[i].major, vram_fixes[i].minor) == 0)
            return k->patch >= vram_fixes[i].patch;
    for (size_t i = 0; k->origin == DEBIAN && i < SL_COUNT(vram_debian); i++) {
        const struct debian_fix *d = &vram_debian[i];
        if (series_cmp(k, d->major, d->minor) == 0)
            return k->patch != d->patch ? k->patch > d->patch : k->revision >= d->revision;
    }
    return series_cmp(k, vram_fixes[n - 1].major, vram_fixes[n - 1].minor) > 0;
}

static void vram_cleared(const char *release, const struct kernel *k, const char *dkms,
                         struct gate *g)
{
    static const char id[] = "CVE-2026-46229";
    if (*dkms)
        finding(g, id, GATE_UNKNOWN,
                "could not be checked: the driver is amdgpu-dkms %.20s, not the kernel's", dkms);
    else if (!k->readable)
        finding(g, id, GATE_UNKNOWN, "could not be checked: kernel \"%.60s\" tells no version",
                release);
    else if (vram_fixed(k))
        finding(g, id, GATE_OK, "kernel %.60s clears GPU memory on allocation", release);
    else if (k->origin == OTHER_DISTRIBUTION)
        finding(g, id, GATE_UNKNOWN,
                "could not be checked: kernel %.60s is a distribution's own version", release);
    else if (k->origin == DEBIAN)
        finding(g, id, GATE_VULNERABLE,
                "Debian kernel %d.%d.%d-%d leaves GPU memory to the next tenant; upgrade it",
                k->major, k->minor, k->patch, k->revision);
    else
        finding(g, id, GATE_VULNERABLE,
                "kernel %.60s leaves GPU memory to the next tenant; upgrade it", release);
}

static void driver_present(const char *release, const struct kernel *k, const char *dkms,
                           const char *gfx, struct gate *g)
{
    for (size_t i = 0; i < SL_COUNT(driverless); i++) {
        const struct driverless *d = &driverless[i];
        if (!sl_streq(gfx, d->gfx))
            continue;
        if (*dkms)
            finding(g, d->id, GATE_OK, "amdgpu-dkms %.20s drives %s", dkms, gfx);
        else if (!k->readable ||
                 (k->origin == OTHER_DISTRIBUTION && series_cmp(k, d->major, d->minor) <= 0))
            finding(g, d->id, GATE_UNKNOWN,
                    "could not be checked: whether kernel \"%.60s\" drives %s", release, gfx);
        else if (series_cmp(k, d->major, d->minor) <= 0)
            finding(g, d->id, GATE_VULNERABLE, "kernel %.60s cannot drive %s; use one after %d.%d",
                    release, gfx, d->major, d->minor);
        else
            finding(g, d->id, GATE_OK, "kernel %.60s is after %d.%d", release, d->major, d->minor);
    }
}

static void dkms_release(const char *dkms, struct gate *g)
{
    int v[NUMBERS_MAX];
    const char *rest;
    for (size_t i = 0; i < SL_COUNT(dkms_fixes); i++) {
        const struct dkms_fix *d = &dkms_fixes[i];
        if (!*dkms)
            finding(g, d->id, GATE_OK, "amdgpu-dkms is not loaded");
        else if (numbers(dkms, v, NUMBERS_MAX, &rest) < 2 || v[0] < DKMS_RELEASES_FROM)
            finding(g, d->id, GATE_UNKNOWN,
                    "could not be checked: amdgpu-dkms \"%.20s\" tells no release", dkms);
        else if (v[0] != d->major ? v[0] > d->major : v[1] >= d->minor)
            finding(g, d->id, GATE_OK, "amdgpu-dkms %.20s is not below %d.%d", dkms, d->major,
                    d->minor);
        else
            finding(g, d->id, GATE_VULNERABLE, "amdgpu-dkms %.20s is below %d.%d; upgrade it", dkms,
                    d->major, d->minor);
    }
}

void kernel_gate(const char *release, const char *version, const char *dkms, const char *gfx,
                 struct gate *ret)
{
    *ret = (struct gate){0};
    struct kernel k = kernel_read(release, version);
    vram_cleared(release, &k, dkms, ret);
    dkms_release(dkms, ret);
    driver_present(release, &k, dkms, gfx, ret);
}

/* Only the out-of-tree module has a version there. One that cannot be read is not taken as none. */
static void dkms_read(struct sl_buf *out)
{
    struct sl_err ignored = {0};
    if (access(DKMS_VERSION_FILE, F_OK) < 0 && errno == ENOENT)
        return;
    bool read = file_read(DKMS_VERSION_FILE, 128, out, &ignored) == 0;
    while (out->n && out->p[out->n - 1] == '\n')
        out->p[--out->n] = 0;
    if (!read || !out->n) {
        sl_buf_clear(out);
        sl_buf_adds(out, "unreadable");
    }
}

void kernel_gate_here(const struct topology *t, struct gate *ret)
{
    *ret = (struct gate){0};
    if (!t->devices_n)
        return;
    struct utsname un;
    char gfx[16];
    SL_AUTO_BUF struct sl_buf dkms = SL_BUF(256);
    SL_ASSERT(uname(&un) == 0);
    dkms_read(&dkms);
    kernel_gate(un.release, un.version, sl_buf_str(&dkms), gfx_name(t->devices[0].gfx, gfx), ret);
}

const struct gate_finding *gate_worst(const struct gate *g)
{
    static const int rank[] = {[GATE_OK] = 0, [GATE_UNKNOWN] = 1, [GATE_VULNERABLE] = 2};
    const struct gate_finding *worst = NULL;
    for (int i = 0; i < g->n; i++)
        if (!worst || rank[g->v[i].state] > rank[worst->state])
            worst = &g->v[i];
    return worst;
}
