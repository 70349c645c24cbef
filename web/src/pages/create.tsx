// SPDX-License-Identifier: Apache-2.0
// An instance on one page: card, image, disk, key, timers. What it costs stands beside it all the time.
import { useEffect, useState } from 'preact/hooks';
import { asFailure, type Failure, newKey, post } from '../api';
import { duration, fromMicro, micro, money } from '../format';
import { t } from '../i18n';
import { beat, useData, useList } from '../live';
import { go, query } from '../router';
import type { Image, Key, Lease, Price, Quote, Wallet } from '../types';
import { Card, Cli, Emulated, Facts, Field, Form, Oops, Page, With } from '../ui';

const HOURS: [string, number][] = [['1', 3600], ['4', 14400], ['12', 43200], ['24', 86400], ['72', 259200]];

export function Create() {
  const prices = useList<Price>('/v1/prices', 15);
  const images = useList<Image>('/v1/images');
  return (
    <Page title={t('create.title')} lead={t('create.lead')}>
      <With of={prices}>{(p) => <With of={images}>{(i) => <Choose prices={p.filter((x) => x.stock.total > 0)} images={i.filter((x) => x.state === 'available')} />}</With>}</With>
    </Page>
  );
}

function Choose({ prices, images }: { prices: Price[]; images: Image[] }) {
  const wallet = useData<Wallet>('/v1/wallet', 30);
  const keys = useList<Key>('/v1/keys');
  const models = [...new Set(prices.map((p) => p.model))];
  const wanted = query('model');
  const [model, setModel] = useState(models.includes(wanted) ? wanted : models[0] || '');
  const [gpus, setGpus] = useState('1');
  const [image, setImage] = useState(query('image') || images[0]?.name || '');
  const [disk, setDisk] = useState('20');
  const [name, setName] = useState('');
  const [ttl, setTtl] = useState('0');
  const [idle, setIdle] = useState('0');
  const [command, setCommand] = useState('');
  const [keyText, setKeyText] = useState('');
  const [quote, setQuote] = useState<Quote | null>(null);
  const [refused, setRefused] = useState<Failure | null>(null);
  const [key] = useState(newKey);
  const [wide] = useState(() => matchMedia('(min-width: 901px)').matches);
  const want = { model, gpus: Number(gpus), image, disk_gb: Number(disk) };
  const asked = JSON.stringify(want);
  const price = prices.find((p) => p.model === model);
  const stock = price?.stock.free;

  useEffect(() => {
    if (!model || !image || !(want.gpus > 0) || !(want.disk_gb > 0)) return;
    let old = false;
    const id = setTimeout(() => {
      post<Quote>('/v1/quotes', want).then(
        (q) => {
          if (old) return;
          setQuote(q);
          setRefused(null);
        },
        (e) => {
          if (old) return;
          setQuote(null);
          setRefused(asFailure(e));
        },
      );
    }, 250);
    return () => {
      old = true;
      clearTimeout(id);
    };
  }, [asked, stock, keys.data?.length]);

  if (!models.length) return <div class="empty">{t('create.no_cards')} <a href="/console/">{t('prices.title')}</a></div>;
  if (!images.length) return <div class="empty">{t('create.no_images')}</div>;
  const timers = { ...(Number(ttl) ? { ttl_s: Number(ttl) } : {}), ...(Number(idle) ? { idle_s: Number(idle) } : {}) };
  const body = {
    quote: quote?.id || 'QUOTE',
    ...(name ? { name } : {}),
    ...(command.trim() ? { command: ['/bin/sh', '-c', command.trim()] } : {}),
    ...(Object.keys(timers).length ? { autostop: timers } : {}),
  };
  const cli = ['starlease run', `--gpu '${model}:${gpus}'`, `--disk ${disk}`, name && `--name ${name}`, Number(ttl) && `--ttl ${Number(ttl) / 3600}h`, Number(idle) && `--idle ${Number(idle) / 60}m`, image].filter(Boolean).join(' ');
  const max = Math.max(1, ...prices.filter((p) => p.model === model).map((p) => Math.min(8, p.stock.total)));
  return (
    <div class="split">
      <Form
        label={quote ? t('create.do', { cost: money(quote.rate_per_hour, quote.currency) }) : t('create.do_plain')}
        disabled={!quote || !keys.data?.length && !keyText.trim()}
        submit={async () => {
          if (keyText.trim()) {
            await post('/v1/keys', { key: keyText.trim() });
            setKeyText('');
            keys.reload();
          }
          const lease = await post<Lease>('/v1/leases', body, key + (quote?.id || ''));
          beat.value++;
          go('/instances/' + lease.id);
        }}
      >
        {(f) => (
          <>
            <Card title={t('create.card')}>
              <fieldset class="choices">
                <legend class="sr">{t('model')}</legend>
                {models.map((m) => {
                  const p = prices.find((x) => x.model === m)!;
                  return (
                    <label class="choice">
                      <input type="radio" name="model" checked={model === m} onChange={() => setModel(m)} />
                      <span>
                        <strong>{m}</strong> {p.emulated && <Emulated />}
                        <br />
                        {p.memory_gb} GB {p.memory_type} · {t('per_hour', { cost: money(p.price, p.currency) })}
                        <br />
                        <span class="dim">{p.stock.free ? t('stock.free', { free: p.stock.free, total: p.stock.total }) : t('stock.full', { total: p.stock.total })}</span>
                      </span>
                    </label>
                  );
                })}
              </fieldset>
              <Field name="gpus" label={t('create.gpus')} value={gpus} set={setGpus} failure={refused} options={Array.from({ length: max }, (_, i) => [String(i + 1), String(i + 1)])} />
            </Card>
            <Card title={t('create.system')}>
              <Field name="image" label={t('image')} value={image} set={setImage} options={images.map((i) => [i.name, [i.name, i.rocm && 'ROCm ' + i.rocm, i.frameworks].filter(Boolean).join(' · ')])} failure={refused} />
              <Field name="disk_gb" label={t('create.disk')} type="number" min={1} max={2000} value={disk} set={setDisk} hint={t('create.disk_hint')} failure={refused} />
              <Field name="name" label={t('create.name')} value={name} set={setName} hint={t('create.name_hint')} failure={f} maxLength={63} spellcheck={false} />
              <Field name="command" label={t('create.command')} value={command} set={setCommand} hint={t('create.command_hint')} failure={f} spellcheck={false} />
            </Card>
            <Card title={t('create.key')}>
              {keys.data?.length ? (
                <>
                  <p>{t('create.keys', { n: keys.data.length })}</p>
                  <ul class="plain">
                    {keys.data.map((k) => (
                      <li>
                        <strong>{k.name}</strong> <code>{k.fingerprint}</code>
                      </li>
                    ))}
                  </ul>
                </>
              ) : (
                <Field name="key" label={t('create.key_paste')} rows={3} value={keyText} set={setKeyText} hint={t('create.key_hint')} failure={f} spellcheck={false} />
              )}
            </Card>
            <Card title={t('create.stop')}>
              <Field name="ttl" label={t('create.ttl')} value={ttl} set={setTtl} hint={t('create.ttl_hint')} options={[['0', t('never')], ...HOURS.map(([h, s]): [string, string] => [String(s), t('time.h', { n: h })])]} />
              <Field name="idle" label={t('create.idle')} value={idle} set={setIdle} options={[['0', t('never')], ['900', t('time.m', { n: 15 })], ['1800', t('time.m', { n: 30 })], ['3600', t('time.h', { n: 1 })]]} />
            </Card>
            <Cli cli={cli} method="POST" path="/v1/leases" body={body} />
          </>
        )}
      </Form>
      <aside class="card cost" aria-label={t('cost')} aria-live="polite">
        <h2>{t('cost')}</h2>
        {refused && <Oops failure={refused} />}
        {quote && (
          <>
            <p class="big">
              <span class="num">{money(quote.rate_per_hour, quote.currency)}</span> <small>{t('unit.hour')}</small>
            </p>
            <p class="lasts">{t('cost.lasts')}: {quote.balance_lasts_s === null ? '—' : <strong>{duration(quote.balance_lasts_s)}</strong>}</p>
            <details class="cost-more" open={wide}>
              <summary>{t('cost.more')}</summary>
              <Facts
                rows={[
                  [t('cost.day'), <span class="num">{money(quote.rate_per_day, quote.currency)}</span>],
                  [t('cost.disk'), <span class="num">{micro(quote.disk_per_hour) ? t('per_hour', { cost: money(quote.disk_per_hour, quote.currency) }) : t('free')}</span>],
                  [t('cost.hold'), <span class="num">{money(quote.hold, quote.currency)}</span>],
                  !!wallet.data && [t('wallet.available'), <span class="num">{money(wallet.data.available, wallet.data.currency)}</span>],
                ]}
              />
              {Number(ttl) > 0 && <p>{t('cost.ttl', { most: money(fromMicro((micro(quote.rate_per_hour) * BigInt(ttl)) / 3600n), quote.currency), time: duration(Number(ttl)) })}</p>}
              <p class={quote.available_now ? 'state good' : 'state warn'}>
                <span aria-hidden="true">{quote.available_now ? '●' : '▲'}</span> {quote.available_now ? t('create.now') : t('create.later')}
              </p>
              {quote.emulated && <p><Emulated /></p>}
              <p class="dim">{t('create.rule')}</p>
            </details>
          </>
        )}
      </aside>
    </div>
  );
}
