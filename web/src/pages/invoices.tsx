// SPDX-License-Identifier: Apache-2.0
// Invoices over what was paid in cash: asked for by the renter, issued by the operator, reversed by a red letter.
import { useState } from 'preact/hooks';
import { isOperator, me, post, text } from '../api';
import { t, word } from '../i18n';
import { beat, useList } from '../live';
import type { Invoice } from '../types';
import { ask, Card, Cli, download, Field, Form, Money, Page, say, State, Table, Time, With } from '../ui';

const again = () => void beat.value++;

function Reverse({ i }: { i: Invoice }) {
  const [reason, setReason] = useState('');
  return (
    <Form
      label={t('invoice.reverse')}
      class="danger-form"
      submit={async () => {
        await post(`/v1/invoices/${i.id}/reverse`, { reason });
        setReason('');
        say(t('invoice.reverse_done'));
        again();
      }}
    >
      {(f) => <Field name="reason" label={t('topup.reason')} value={reason} set={setReason} failure={f} hint={t('invoice.reverse_hint')} />}
    </Form>
  );
}

export function Invoices() {
  const invoices = useList<Invoice>('/v1/invoices');
  const [want, setWant] = useState<Record<string, string>>({});
  const [chosen, setChosen] = useState('');
  const put = (name: string) => (v: string) => setWant({ ...want, [name]: v });
  const body = Object.fromEntries(Object.entries(want).filter(([, v]) => v.trim()));
  const one = invoices.data?.find((i) => i.id === chosen);
  const act = (i: Invoice, verb: 'issue' | 'confirm') =>
    ask({
      title: t(`invoice.${verb}_title`, { name: i.buyer.name }), action: t(`invoice.${verb}`), body: <p><Money v={i.total} c={i.currency} /> · {i.total_in_words}</p>,
      cli: <Cli cli={`starlease invoice ${verb} ${i.id}`} method="POST" path={`/v1/invoices/${i.id}/${verb}`} />, run: () => post(`/v1/invoices/${i.id}/${verb}`).then(again),
    });
  return (
    <Page title={t('invoices.title')} lead={t('invoices.lead')}>
      <With of={invoices}>
        {(rows) => (
          <Table<Invoice>
            label={t('invoices.title')}
            rows={[...rows].reverse()}
            id={(i) => i.id}
            empty={t('invoices.empty')}
            columns={[
              { head: t('invoice.number'), cell: (i) => i.number || <code>{'…' + i.id.slice(-8)}</code> },
              { head: t('invoice.kind'), cell: (i) => word('invoicekind', i.kind) },
              { head: t('state'), cell: (i) => <State name={i.state} /> },
              { head: t('invoice.buyer'), cell: (i) => <>{i.buyer.name}{i.account !== me.value?.account?.id && <div><code>{'…' + i.account.slice(-8)}</code></div>}</> },
              { head: t('invoice.total'), num: true, cell: (i) => <><strong><Money v={i.total} c={i.currency} /></strong><div class="dim">{t('invoice.tax', { tax: i.tax, rate: i.tax_rate })}</div></> },
              { head: t('invoice.period'), cell: (i) => <><Time at={i.from} /><br /><Time at={i.to} /></> },
              {
                head: t('actions'),
                cell: (i) => (
                  <>
                    <button onClick={() => text('/v1/invoices/' + i.id).then((x) => download(`invoice-${i.number || i.id}.json`, x), (e) => say(String(e.message)))}>{t('statement.download')}<span class="sr"> {i.number || i.id}</span></button>{' '}
                    {isOperator() && i.state === 'draft' && <button onClick={() => act(i, 'issue')}>{t('invoice.issue')}<span class="sr"> {i.id}</span></button>}{' '}
                    {isOperator() && i.state === 'reversing' && <button onClick={() => act(i, 'confirm')}>{t('invoice.confirm')}<span class="sr"> {i.id}</span></button>}{' '}
                    {i.kind === 'blue' && ['draft', 'issued'].includes(i.state) && i.account === me.value?.account?.id && <button class="danger" aria-expanded={i.id === chosen} onClick={() => setChosen(i.id === chosen ? '' : i.id)}>{t('invoice.reverse')}<span class="sr"> {i.number || i.id}</span></button>}
                  </>
                ),
              },
            ]}
          />
        )}
      </With>
      {one && <Card title={`${t('invoice.reverse')}: ${one.number || one.buyer.name}`}><Reverse i={one} key={one.id} /><Cli cli={`starlease invoice reverse ${one.id}`} method="POST" path={`/v1/invoices/${one.id}/reverse`} body={{ reason: '...' }} /></Card>}
      <Card title={t('invoice.ask')}>
        <Form
          label={t('invoice.ask')}
          submit={async () => {
            await post('/v1/invoices', body);
            setWant({});
            say(t('invoice.asked'));
            again();
          }}
        >
          {(f) => (
            <>
              <div class="row">
                <Field name="buyer_name" label={t('invoice.buyer')} value={want.buyer_name || ''} set={put('buyer_name')} failure={f} />
                <Field name="tax_id" label={t('invoice.tax_id')} value={want.tax_id || ''} set={put('tax_id')} failure={f} hint={t('invoice.tax_id_hint')} spellcheck={false} />
              </div>
              <div class="row">
                <Field name="address" label={t('invoice.address')} value={want.address || ''} set={put('address')} failure={f} />
                <Field name="phone" label={t('invoice.phone')} value={want.phone || ''} set={put('phone')} failure={f} />
                <Field name="bank" label={t('invoice.bank')} value={want.bank || ''} set={put('bank')} failure={f} />
                <Field name="bank_account" label={t('invoice.bank_account')} value={want.bank_account || ''} set={put('bank_account')} failure={f} />
              </div>
              <p class="dim">{t('invoice.rule')}</p>
              <Cli cli={`starlease invoice request '${want.buyer_name || 'BUYER'}'`} method="POST" path="/v1/invoices" body={body} />
            </>
          )}
        </Form>
      </Card>
    </Page>
  );
}
