// SPDX-License-Identifier: Apache-2.0
// The parts that every page is made of.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { asFailure, Failure, me } from './api';
import { money, when } from './format';
import { t, word } from './i18n';
import type { Loaded } from './live';

export function Page(p: { title: string; actions?: ComponentChildren; lead?: ComponentChildren; children: ComponentChildren }) {
  useEffect(() => {
    document.title = `${p.title} · Starlease`;
  }, [p.title]);
  return (
    <>
      <header class="page-head">
        <div>
          <h1 tabIndex={-1}>{p.title}</h1>
          {p.lead && <p class="lead">{p.lead}</p>}
        </div>
        {p.actions && <div class="actions">{p.actions}</div>}
      </header>
      {p.children}
    </>
  );
}

export function Card(p: { title?: string; aside?: ComponentChildren; children: ComponentChildren; class?: string }) {
  return (
    <section class={'card ' + (p.class || '')}>
      {p.title && (
        <div class="card-head">
          <h2>{p.title}</h2>
          {p.aside}
        </div>
      )}
      {p.children}
    </section>
  );
}

/* state.X with a mark of its own shape: colour is never alone. */
const MARKS: Record<string, [string, string]> = {
  running: ['good', '●'], available: ['good', '●'], good: ['good', '●'], done: ['good', '✓'], active: ['good', '●'], ok: ['good', '✓'],
  placed: ['busy', '◔'], starting: ['busy', '◑'], stopping: ['busy', '◑'], testing: ['busy', '◑'], sanitizing: ['busy', '◑'], importing: ['busy', '◑'],
  creating: ['busy', '◔'], pending: ['busy', '◔'], queued: ['busy', '◔'], requested: ['busy', '◔'], enrolled: ['busy', '◔'], leased: ['busy', '●'], attached: ['good', '●'],
  stopped: ['rest', '■'], draft: ['busy', '◔'], issued: ['good', '✓'], reversing: ['warn', '▲'], reversed: ['rest', '○'], cancelled: ['rest', '○'], listed: ['rest', '○'], draining: ['warn', '▲'], unknown: ['warn', '?'], unverified: ['warn', '?'], quarantined: ['bad', '✕'], failed: ['bad', '✕'],
  bad: ['bad', '✕'], frozen: ['bad', '✕'], released: ['rest', '○'], deleted: ['rest', '○'], purged: ['rest', '○'], retired: ['rest', '○'],
};
export function State({ name }: { name: string }) {
  const [tone, mark] = MARKS[name] || ['rest', '·'];
  return (
    <span class={'state ' + tone}>
      <span aria-hidden="true">{mark}</span> {word('state', name)}
    </span>
  );
}
export const Emulated = () => (
  <span class="tag" title={t('emulated.why')}>
    {t('emulated')}
  </span>
);

/* Who did it: an account's id, "system", "agent", "operator:ID". */
export const Actor = ({ id }: { id: string }) =>
  id === me.value?.account?.id ? <>{t('you')}</> : id.startsWith('acc_') ? <code title={id}>{'…' + id.slice(-8)}</code> : <>{word('actor', id)}</>;

export const Money = ({ v, c }: { v: string; c?: string }) => <span class="num">{money(v, c)}</span>;
/* Local time; UTC when pointed at. */
export const Time = ({ at }: { at: string | null | undefined }) =>
  at ? (
    <time dateTime={at} title={at.replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')}>
      {when(at)}
    </time>
  ) : (
    <span class="dim">—</span>
  );

export interface Column<T> {
  head: string;
  cell: (row: T) => ComponentChildren;
  num?: boolean;
}
/* On a narrow screen every row becomes a block with its heads inside (app.css). */
export function Table<T>(p: { label: string; rows: T[]; columns: Column<T>[]; id: (row: T) => string; empty?: ComponentChildren }) {
  if (!p.rows.length) return <div class="empty">{p.empty || t('list.empty')}</div>;
  return (
    <div class="table-box">
      <table role="table" aria-label={p.label}>
        <thead role="rowgroup">
          <tr role="row">
            {p.columns.map((c) => (
              <th role="columnheader" scope="col" class={c.num ? 'right' : ''}>
                {c.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody role="rowgroup">
          {p.rows.map((row) => (
            <tr role="row" key={p.id(row)}>
              {p.columns.map((c) => (
                <td role="cell" data-head={c.head} class={c.num ? 'right num' : ''}>
                  <div>{c.cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

export function Oops({ failure }: { failure: Failure | null }) {
  if (!failure) return null;
  const p = failure.problem;
  const title = p.code === 'offline' ? t('oops.offline') : p.title || t('oops.title');
  return (
    <div class="oops" role="alert">
      <strong>{title}</strong>
      {p.detail && <p lang="en">{p.detail}</p>}
      {p.offers && p.offers.length > 0 && (
        <ul>
          {p.offers.map((o) => (
            <li>
              {o.kind === 'no_gpu' ? t('offer.no_gpu') : t('offer.cards', { n: o.gpus ?? 0 })} · {t('per_hour', { cost: money(o.rate_per_hour, o.currency) })} · <code>{o.command}</code>
            </li>
          ))}
        </ul>
      )}
      {p.request_id && <small class="dim">{p.request_id}</small>}
    </div>
  );
}
/* The page's data, or why they are not there. */
export function With<T>(p: { of: Loaded<T>; children: (data: T) => ComponentChildren }) {
  if (p.of.data === null) return p.of.failure ? <Oops failure={p.of.failure} /> : <p class="dim" role="status">{t('loading')}</p>;
  return (
    <>
      {p.of.failure && <Oops failure={p.of.failure} />}
      {p.children(p.of.data)}
    </>
  );
}

interface FieldProps {
  label: string;
  value: string;
  set: (v: string) => void;
  name: string;
  type?: string;
  hint?: ComponentChildren;
  options?: [string, string][];
  rows?: number;
  failure?: Failure | null;
  [attribute: string]: unknown;
}
export function Field({ label, value, set, name, type, hint, options, rows, failure, ...rest }: FieldProps) {
  const id = useId();
  const wrong = failure?.problem.field === name ? failure.problem.detail : '';
  const common = {
    id, name, value, 'aria-describedby': hint || wrong ? id + 'h' : undefined, 'aria-invalid': wrong ? true : undefined, ...rest,
    onInput: (e: Event) => set((e.target as HTMLInputElement).value),
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {options ? (
        <select {...common}>
          {options.map(([v, text]) => (
            <option value={v}>{text}</option>
          ))}
        </select>
      ) : rows ? (
        <textarea rows={rows} {...common} />
      ) : (
        <input type={(type || 'text') as 'text'} autoComplete="off" {...common} />
      )}
      {(hint || wrong) && (
        <div id={id + 'h'} class={wrong ? 'wrong' : 'hint'}>
          {wrong ? <span lang="en">✕ {wrong}</span> : hint}
        </div>
      )}
    </div>
  );
}

/* A form that runs `submit` once at a time and shows what went wrong. Children get the failure for their fields. */
export function Form(p: { submit: () => Promise<unknown>; label: string; children: (failure: Failure | null) => ComponentChildren; class?: string; disabled?: boolean }) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  return (
    <form
      class={p.class}
      noValidate
      onSubmit={async (e) => {
        e.preventDefault();
        if (busy) return;
        setBusy(true);
        setFailure(null);
        try {
          await p.submit();
        } catch (x) {
          setFailure(asFailure(x));
        }
        setBusy(false);
      }}
    >
      {p.children(failure)}
      <Oops failure={failure} />
      <div class="form-end">
        <button class="primary" disabled={busy || p.disabled}>
          {busy ? t('busy') : p.label}
        </button>
      </div>
    </form>
  );
}

export function Copy({ text, label }: { text: string; label?: string }) {
  const [done, setDone] = useState(false);
  return (
    <button
      type="button"
      class="copy"
      aria-label={`${t('copy')} ${label || text}`}
      onClick={async () => {
        await navigator.clipboard.writeText(text);
        setDone(true);
        setTimeout(() => setDone(false), 1500);
      }}
    >
      {done ? t('copied') : t('copy')}
    </button>
  );
}
export function Code({ text, label }: { text: string; label?: string }) {
  return (
    <div class="code">
      <pre tabIndex={0} aria-label={label || t('cli.command')}>{text}</pre>
      <Copy text={text} label={label} />
    </div>
  );
}
/* The same action on the command line and as an HTTP call. */
export function Cli({ cli, method, path, body }: { cli?: string; method: string; path: string; body?: unknown }) {
  const key = method === 'POST' ? ` -H "Idempotency-Key: $(uuidgen)"` : '';
  const data = body === undefined ? '' : ` -H 'Content-Type: application/json' \\\n  -d '${JSON.stringify(body).replace(/'/g, `'\\''`)}'`;
  return (
    <details class="cli">
      <summary>{t('cli.title')}</summary>
      {cli && <Code text={cli} label="starlease" />}
      <Code text={`curl -X ${method} ${location.origin}${path} \\\n  -H "Authorization: Bearer $STARLEASE_TOKEN"${key}${data}`} label="curl" />
    </details>
  );
}

export function download(name: string, text: string): void {
  const a = document.createElement('a');
  a.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  a.download = name;
  a.click();
  URL.revokeObjectURL(a.href);
}

export interface Ask {
  title: string;
  body: ComponentChildren;
  action: string;
  danger?: boolean;
  type?: string; // what must be typed first
  run: () => Promise<unknown>;
  cli?: ComponentChildren;
}
const asking = signal<Ask | null>(null);
export const ask = (a: Ask) => {
  asking.value = a;
};
export function AskBox() {
  const a = asking.value;
  const box = useRef<HTMLDialogElement>(null);
  const [typed, setTyped] = useState('');
  useEffect(() => {
    setTyped('');
    if (a && !box.current?.open) box.current?.showModal();
    if (!a && box.current?.open) box.current.close();
  }, [a]);
  const close = () => {
    asking.value = null;
  };
  return (
    <dialog ref={box} onClose={close} aria-labelledby="ask-title">
      {a && (
        <>
          <h2 id="ask-title">{a.title}</h2>
          <div class="ask-body">{a.body}</div>
          <Form
            label={a.action}
            class={a.danger ? 'danger-form' : ''}
            disabled={!!a.type && typed !== a.type}
            submit={async () => {
              await a.run();
              close();
            }}
          >
            {() => (
              <>
                {a.type && <Field name="confirm" label={t('ask.type', { name: a.type })} value={typed} set={setTyped} spellcheck={false} />}
                {a.cli}
                <button type="button" class="cancel" onClick={close}>
                  {t('cancel')}
                </button>
              </>
            )}
          </Form>
        </>
      )}
    </dialog>
  );
}

const said = signal('');
let saidTimer = 0;
/* A short word that something was done; screen readers hear it too. */
export function say(text: string): void {
  said.value = text;
  clearTimeout(saidTimer);
  saidTimer = window.setTimeout(() => (said.value = ''), 4000);
}
export const Said = () => (
  <div class={said.value ? 'said on' : 'said'} role="status">
    {said.value}
  </div>
);

export function Facts({ rows }: { rows: ([string, ComponentChildren] | false | null)[] }) {
  return (
    <dl class="facts">
      {rows.map(
        (r) =>
          r && (
            <div>
              <dt>{r[0]}</dt>
              <dd>{r[1]}</dd>
            </div>
          ),
      )}
    </dl>
  );
}
