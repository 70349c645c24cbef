/* SPDX-License-Identifier: Apache-2.0 */
#include "server/system.h"
#include "base/core/version.h"

int health_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    int64_t one;
    if (db_value(c, 0, &one, err, "SELECT 1", "") < 0) /* the store answers too */
        return -1;
    jw_object(&out->json, NULL);
    jw_bool(&out->json, "ok", one == 1);
    jw_str(&out->json, "version", SL_VERSION);
    jw_str(&out->json, "api_version", "v1");
    jw_time(&out->json, "time", env_now(r->s->env));
    jw_end(&out->json);
    return 0;
}

int public_key_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    (void)c;
    (void)err;
    jw_object(&out->json, NULL);
    jw_str(&out->json, "public", r->s->sign_public);
    jw_end(&out->json);
    return 0;
}

int openapi_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    (void)c;
    (void)r;
    (void)err;
    openapi_write(&out->body);
    return 0;
}
