// SPDX-License-Identifier: Apache-2.0
// What everybody sees: the price table with live stock, signing up, signing in.
import { useState } from 'preact/hooks';
import { asFailure, get, me, post, who } from '../api';
import { cents, micro, money } from '../format';
import { t, word } from '../i18n';
import { useList } from '../live';
import { go, query, setQuery } from '../router';
import type { Console, Price, Tariff } from '../types';
import { Card, Cli, Emulated, Field, Form, Page, say, Table, Time, With } from '../ui';

/* A price in the other currency of the dated rate; '' when there is no rate for it. */
function other(p: Price): string {
  const fx = me.value?.fx;
  if (!fx) return '';
  const rate = micro(fx.rate);
  if (p.currency === fx.base) return `≈ ${fx.quote} ${cents((micro(p.price) * rate) / 1000000n)}`;
  if (p.currency === fx.quote) return `≈ ${fx.base} ${cents((micro(p.price) * 1000000n) / rate)}`;
  return '';
}

function Stock({ p }: { p: Price }) {
  const { free, total } = p.stock;
  const tone = free > 0 ? 'good' : total > 0 ? 'warn' : 'rest';
  return (
    <>
      <span class={'state ' + tone}>
        <span aria-hidden="true">{free > 0 ? '●' : total > 0 ? '▲' : '○'}</span>{' '}
        {free > 0 ? t('stock.free', { free, total }) : total > 0 ? t('stock.full', { total }) : t('stock.none')}
      </span>
      {p.emulated && <> <Emulated /></>}
    </>
  );
}

export function Prices() {
  const prices = useList<Price>('/v1/prices', 15);
  const only = query('stock');
  const sort = query('sort') || 'model';
  const fx = me.value?.fx;
  const signed = !!me.value?.account;
  return (
    <Page
      title={t('prices.title')}
      lead={t('prices.lead')}
      actions={!signed && <a class="button primary" href="/console/signup">{t('signup.title')}</a>}
    >
      <div class="filters">
        <Field name="stock" label={t('prices.show')} value={only} set={(v) => setQuery('stock', v)} options={[['', t('prices.all')], ['free', t('prices.free')]]} />
        <Field name="sort" label={t('sort')} value={sort} set={(v) => setQuery('sort', v === 'model' ? '' : v)} options={[['model', t('model')], ['price', t('price')], ['gb', t('prices.per_gb')]]} />
      </div>
      <With of={prices}>
        {(rows) => {
          const shown = rows.filter((p) => only !== 'free' || p.stock.free > 0);
          shown.sort((a, b) =>
            sort === 'price' ? Number(micro(a.price) - micro(b.price)) : sort === 'gb' ? Number(a.price_per_gb_true) - Number(b.price_per_gb_true) : a.model.localeCompare(b.model));
          return (
            <Table<Price>
              label={t('prices.title')}
              rows={shown}
              id={(p) => p.id}
              empty={t('prices.empty')}
              columns={[
                { head: t('model'), cell: (p) => <><strong>{p.model}</strong> <span class="dim">{p.maker}</span></> },
                { head: t('memory'), cell: (p) => <>{p.memory_gb} GB <span class="dim">{p.memory_type}</span>{p.memory_flag && <div class="note" lang="en">▲ {p.memory_flag}</div>}</> },
                { head: t('prices.per_hour'), num: true, cell: (p) => <><strong>{money(p.price, p.currency)}</strong>{other(p) && <div class="dim">{other(p)}</div>}</> },
                { head: t('prices.per_gb'), num: true, cell: (p) => `${p.currency} ${p.price_per_gb_true}` },
                { head: t('prices.stock'), cell: (p) => <Stock p={p} /> },
                { head: t('prices.since'), cell: (p) => <Time at={p.effective} /> },
                { head: t('actions'), cell: (p) => p.stock.total > 0 ? <a class="button" href={`/console/create?model=${encodeURIComponent(p.model)}`}>{t('rent')}<span class="sr"> {p.model}</span></a> : <span class="dim">{p.note || '—'}</span> },
              ]}
            />
          );
        }}
      </With>
      <p class="dim">
        {t('prices.rule')}
        {fx && ' ' + t('prices.fx', { base: fx.base, quote: fx.quote, rate: money(fx.rate), day: fx.day })}
      </p>
      <Tariffs />
      <Cli cli="starlease price list" method="GET" path="/v1/prices" />
    </Page>
  );
}

/* What is no card: disks, runs without cards. */
function Tariffs() {
  const tariffs = useList<Tariff>('/v1/tariffs');
  if (!tariffs.data?.length) return null;
  return (
    <Table<Tariff>
      label={t('tariffs.title')}
      rows={tariffs.data}
      id={(x) => x.kind}
      columns={[
        { head: t('tariffs.title'), cell: (x) => word('tariff', x.kind) },
        { head: t('price'), num: true, cell: (x) => (micro(x.price) ? money(x.price, x.currency) : t('free')) },
        { head: t('tariffs.unit'), cell: (x) => word('unit', x.unit) },
        { head: t('prices.since'), cell: (x) => <Time at={x.effective} /> },
      ]}
    />
  );
}

export function SignUp() {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const [waits, setWaits] = useState(false);
  const trial = me.value?.trial || '0';
  return (
    <Page title={t('signup.title')} lead={micro(trial) > 0n ? t('signup.trial', { amount: money(trial, me.value?.currency) }) : undefined}>
      <Card class="narrow">
        {!waits ? (
          <Form
            label={t('signup.do')}
            submit={async () => {
              await post('/v1/accounts', { email, password });
              setWaits(true);
            }}
          >
            {(f) => (
              <>
                <Field name="email" label={t('email')} type="email" value={email} set={setEmail} failure={f} autoComplete="email" required />
                <Field name="password" label={t('password')} type="password" value={password} set={setPassword} failure={f} hint={t('signup.password')} autoComplete="new-password" required />
              </>
            )}
          </Form>
        ) : (
          <Form
            label={t('signup.verify')}
            submit={async () => {
              await post('/v1/accounts/verify', { email, code: code.trim() });
              me.value = await post<Console>('/v1/console', { email, password });
              if (micro(trial) > 0n) await post('/v1/account/trial').catch(() => 0);
              say(t('signup.done'));
              go('/create');
            }}
          >
            {(f) => (
              <>
                <p>{t('signup.mailed', { email })}</p>
                <Field name="code" label={t('signup.code')} value={code} set={setCode} failure={f} inputMode="numeric" autoComplete="one-time-code" required />
                <button type="button" class="link" onClick={() => post('/v1/accounts/code', { email }).then(() => say(t('signup.again_done')))}>
                  {t('signup.again')}
                </button>
              </>
            )}
          </Form>
        )}
      </Card>
      <p>
        {t('signup.have')} <a href="/console/signin">{t('signin.title')}</a>
      </p>
    </Page>
  );
}

export function SignIn() {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [token, setToken] = useState('');
  const [code, setCode] = useState('');
  const [second, setSecond] = useState(false);
  const how = query('with');
  return (
    <Page title={t('signin.title')}>
      <Card class="narrow">
        <Form
          label={t('signin.title')}
          submit={async () => {
            try {
              me.value = await post<Console>('/v1/console', how === 'token' ? { token: token.trim() } : { email, password, ...(second ? { code: code.trim() } : {}) });
            } catch (e) {
              if (!second && asFailure(e).problem.field === 'code') {
                setSecond(true);
                return;
              }
              throw e;
            }
            const next = query('next');
            go(next.startsWith('/') && !next.startsWith('//') ? next : me.value.account?.role === 'operator' ? '/fleet' : '/instances');
          }}
        >
          {(f) =>
            how === 'token' ? (
              <Field name="token" label={t('token')} type="password" value={token} set={setToken} failure={f} hint={t('signin.token')} required />
            ) : (
              <>
                <Field name="email" label={t('email')} type="email" value={email} set={setEmail} failure={f} autoComplete="email" required />
                <Field name="password" label={t('password')} type="password" value={password} set={setPassword} failure={f} autoComplete="current-password" required />
                {second && <Field name="code" label={t('totp.code')} value={code} set={setCode} failure={f} hint={t('totp.code_hint')} inputMode="numeric" autoComplete="one-time-code" required />}
              </>
            )
          }
        </Form>
        <button type="button" class="link" onClick={() => setQuery('with', how === 'token' ? '' : 'token')}>
          {how === 'token' ? t('signin.by_password') : t('signin.by_token')}
        </button>
      </Card>
      <p>
        {t('signin.new')} <a href="/console/signup">{t('signup.title')}</a>
      </p>
    </Page>
  );
}

export async function signOut(): Promise<void> {
  const { del } = await import('../api');
  await del('/v1/console').catch(() => 0);
  await who();
  await get('/v1/health').catch(() => 0);
  go('/');
}
