// SPDX-License-Identifier: Apache-2.0
// Disks and images.
import { del, isOperator, me, post } from '../api';
import { bytes } from '../format';
import { t } from '../i18n';
import { beat, useList } from '../live';
import type { Image, Volume } from '../types';
import { ask, Card, Cli, Field, Form, Page, Oops, say, State, Table, Time, With } from '../ui';
import { useState } from 'preact/hooks';

const again = () => void beat.value++;

export function Volumes() {
  const volumes = useList<Volume>('/v1/volumes');
  const drop = (v: Volume, purge: boolean) =>
    ask({
      title: t(purge ? 'volume.purge_title' : 'volume.delete_title', { name: v.name || v.id }), action: purge ? t('volume.purge') : t('delete'), danger: true,
      type: v.name || v.id, body: <p>{purge ? t('volume.purge_body', { size: bytes(v.size_bytes) }) : t('volume.delete_body', { size: bytes(v.size_bytes) })}</p>,
      cli: <Cli cli={`starlease volume rm ${v.id}${purge ? ' --purge' : ''}`} method="DELETE" path={`/v1/volumes/${v.id}${purge ? '?purge=' + v.id : ''}`} />,
      run: () => del(`/v1/volumes/${v.id}${purge ? '?purge=' + v.id : ''}`).then(again),
    });
  return (
    <Page title={t('volumes.title')} lead={t('volumes.lead')}>
      <With of={volumes}>
        {(rows) => (
          <Table<Volume>
            label={t('volumes.title')}
            rows={[...rows].reverse()}
            id={(v) => v.id}
            empty={<>{t('volumes.empty')} <a href="/console/create">{t('create.title')}</a></>}
            columns={[
              { head: t('name'), cell: (v) => v.name || <code>{v.id}</code> },
              { head: t('state'), cell: (v) => <State name={v.state} /> },
              { head: t('size'), num: true, cell: (v) => bytes(v.size_bytes) },
              { head: t('volumes.of'), cell: (v) => (v.lease ? <a href={`/console/instances/${v.lease}`}>{v.lease.slice(-8)}</a> : '—') },
              { head: t('created'), cell: (v) => <Time at={v.created} /> },
              { head: t('volumes.purge_after'), cell: (v) => <Time at={v.purge_after} /> },
              {
                head: t('actions'),
                cell: (v) =>
                  v.state === 'available' ? <button class="danger" onClick={() => drop(v, false)}>{t('delete')}<span class="sr"> {v.name || v.id}</span></button>
                  : v.state === 'deleted' ? <button class="danger" onClick={() => drop(v, true)}>{t('volume.purge')}<span class="sr"> {v.name || v.id}</span></button>
                  : <span class="dim">—</span>,
              },
            ]}
          />
        )}
      </With>
      <Cli cli="starlease volume list" method="GET" path="/v1/volumes" />
    </Page>
  );
}

export function Images() {
  const images = useList<Image>('/v1/images');
  const [name, setName] = useState('');
  const [source, setSource] = useState('');
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const own = (i: Image) => !!i.account && i.account === me.value?.account?.id;
  const body = { name, ...(source.startsWith('docker://') ? { reference: source } : source ? { path: source } : {}), ...(username ? { username, password } : {}) };
  return (
    <Page title={t('images.title')} lead={t('images.lead')}>
      <With of={images}>
        {(rows) => (
          <Table<Image>
            label={t('images.title')}
            rows={rows.filter((i) => i.state !== 'deleted')}
            id={(i) => i.name + (i.account || '')}
            empty={t('images.empty')}
            columns={[
              { head: t('name'), cell: (i) => <strong>{i.name}</strong> },
              { head: t('state'), cell: (i) => <><State name={i.state} />{i.progress && <div class="dim num">{i.progress.step} {i.progress.total ? Math.round((100 * i.progress.bytes) / i.progress.total) + ' %' : bytes(i.progress.bytes)}</div>}{i.reason && <div class="note" lang="en">{i.reason}</div>}</> },
              { head: t('images.holds'), cell: (i) => <>{i.rocm && <div>ROCm {i.rocm}</div>}{i.frameworks || (i.rocm ? '' : <span class="dim">—</span>)}{i.warnings.map((w) => <div class="note" lang="en">▲ {w}</div>)}</> },
              { head: t('images.whose'), cell: (i) => (i.account ? (i.account === me.value?.account?.id ? t('images.mine') : <code>{'…' + i.account.slice(-8)}</code>) : t('images.house')) },
              { head: t('size'), num: true, cell: (i) => bytes(i.size_bytes) },
              { head: t('images.digest'), cell: (i) => <code title={i.digest}>{i.digest.slice(0, 19)}…</code> },
              { head: t('created'), cell: (i) => <Time at={i.created} /> },
              {
                head: t('actions'),
                cell: (i) => (
                  <>
                    {i.state === 'available' && <a class="button" href={`/console/create?image=${encodeURIComponent(i.name)}`}>{t('rent')}<span class="sr"> {i.name}</span></a>}{' '}
                    {isOperator() && i.import_with && <button onClick={() => post('/v1/images', { name: i.name }).then(again, (e) => say(String(e.message)))}>{t('images.import')}<span class="sr"> {i.name}</span></button>}{' '}
                    {(isOperator() || own(i)) && i.id && i.state !== 'importing' && !i.import_with && (
                      <button
                        class="danger"
                        onClick={() =>
                          ask({
                            title: t('images.delete_title', { name: i.name }), action: t('delete'), danger: true, type: i.name, body: <p>{t('images.delete_body')}</p>,
                            cli: <Cli cli={`starlease image rm ${i.name}`} method="DELETE" path={`/v1/images/${i.id}`} />, run: () => del(`/v1/images/${i.id}`).then(again),
                          })
                        }
                      >
                        {t('delete')}<span class="sr"> {i.name}</span>
                      </button>
                    )}
                  </>
                ),
              },
            ]}
          />
        )}
      </With>
      {isOperator() && (
        <Card title={t('images.import')}>
          <Form
            class="row"
            label={t('images.import')}
            submit={async () => {
              await post('/v1/images', body);
              setName('');
              setSource('');
              setUsername('');
              setPassword('');
              say(t('images.started'));
              again();
            }}
          >
            {(f) => (
              <>
                <Field name="name" label={t('name')} value={name} set={setName} failure={f} />
                <Field name="path" label={t('images.path')} value={source} set={setSource} failure={f} hint={t('images.path_hint')} spellcheck={false} />
                <Field name="username" label={t('images.user')} value={username} set={setUsername} failure={f} hint={t('images.user_hint')} />
                <Field name="password" label={t('password')} type="password" value={password} set={setPassword} failure={f} autoComplete="new-password" />
              </>
            )}
          </Form>
          <Oops failure={images.failure} />
          <Cli cli={`starlease image import ${name || 'NAME'} ${source}`.trim()} method="POST" path="/v1/images" body={{ ...body, ...(username ? { password: '...' } : {}) }} />
        </Card>
      )}
    </Page>
  );
}
