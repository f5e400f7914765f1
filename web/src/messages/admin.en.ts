import type { Messages } from '../i18n'

const messages = {
  nav: 'Running the gateway',
  operator: 'Operator',
  administrator: 'Administrator',
  back: 'Own account',
  now: 'Now',
  traffic: 'Traffic',
  calls: 'Calls',
  errors: 'Errors',
  jobs: 'Jobs',
  supply: 'Supply',
  providers: 'Providers',
  endpoints: 'Endpoints',
  catalog: 'Models and prices',
  order: 'Order and names',
  customers: 'Customers',
  people: 'People',
  payments: 'Payments',
  invoices: 'Invoices',
  sales: 'Sales',
  ledger: 'Ledger',
  reconciliation: 'Reconciliation',
  installation: 'Installation',
  audit: 'Audit',
  alerts: 'Alerts',
  settings: 'Settings',
} satisfies Messages
export default messages
declare module '../i18n' {
  interface Areas {
    admin: typeof messages
  }
}
