// Written by scripts/operations.mjs (npm run types).
import { query } from './operation'

export const getResponse = /* @__PURE__ */ query(
  'getResponse',
  '/v1/responses/{id}',
  '/api/v1/responses/{id}',
)
export const listInputItems = /* @__PURE__ */ query(
  'listInputItems',
  '/v1/responses/{id}/input_items',
  '/api/v1/responses/{id}/input_items',
)
export const listModels = /* @__PURE__ */ query('listModels', '/v1/models')
export const countModels = /* @__PURE__ */ query('countModels', '/v1/models/count')
export const listZeroRetentionEndpoints = /* @__PURE__ */ query(
  'listZeroRetentionEndpoints',
  '/v1/endpoints/zdr',
)
export const getModel = /* @__PURE__ */ query('getModel', '/v1/models/{vendor}/{model}')
export const getModelBySlug = /* @__PURE__ */ query('getModelBySlug', '/v1/models/{slug}')
export const listProviders = /* @__PURE__ */ query('listProviders', '/v1/models/{vendor}/{model}/providers')
export const listImageModels = /* @__PURE__ */ query('listImageModels', '/v1/images/models')
export const listEmbeddingModels = /* @__PURE__ */ query('listEmbeddingModels', '/v1/embeddings/models')
export const listVideoModels = /* @__PURE__ */ query('listVideoModels', '/v1/videos/models')
export const listVideos = /* @__PURE__ */ query('listVideos', '/v1/videos', '/api/v1/videos')
export const getVideo = /* @__PURE__ */ query('getVideo', '/v1/videos/{id}', '/api/v1/videos/{id}')
export const listFiles = /* @__PURE__ */ query('listFiles', '/v1/files', '/api/v1/files')
export const getFile = /* @__PURE__ */ query('getFile', '/v1/files/{id}', '/api/v1/files/{id}')
export const listBatches = /* @__PURE__ */ query('listBatches', '/v1/batches', '/api/v1/batches')
export const getBatch = /* @__PURE__ */ query('getBatch', '/v1/batches/{id}', '/api/v1/batches/{id}')
export const listMessageBatches = /* @__PURE__ */ query(
  'listMessageBatches',
  '/v1/messages/batches',
  '/api/v1/messages/batches',
)
export const getMessageBatch = /* @__PURE__ */ query(
  'getMessageBatch',
  '/v1/messages/batches/{id}',
  '/api/v1/messages/batches/{id}',
)
export const getCredits = /* @__PURE__ */ query('getCredits', '/v1/credits', '/api/v1/credits')
export const getActivity = /* @__PURE__ */ query('getActivity', '/v1/activity', '/api/v1/activity')
export const getGeneration = /* @__PURE__ */ query('getGeneration', '/v1/generation', '/api/v1/generation')
export const getCurrentKey = /* @__PURE__ */ query('getCurrentKey', '/v1/key', '/api/v1/key')
export const listKeys = /* @__PURE__ */ query('listKeys', '/v1/keys', '/api/v1/keys')
export const getKey = /* @__PURE__ */ query('getKey', '/v1/keys/{hash}', '/api/v1/keys/{hash}')
export const getAgentUsage = /* @__PURE__ */ query('getAgentUsage', '/api/oauth/usage')
export const getStatement = /* @__PURE__ */ query('getStatement', '/api/account/statement')
export const getMe = /* @__PURE__ */ query('getMe', '/api/me')
export const getSetup = /* @__PURE__ */ query('getSetup', '/api/setup')
export const listViews = /* @__PURE__ */ query('listViews', '/api/views')
export const listPayments = /* @__PURE__ */ query('listPayments', '/api/payments')
export const getPayment = /* @__PURE__ */ query('getPayment', '/api/payments/{id}')
export const listInvoices = /* @__PURE__ */ query('listInvoices', '/api/invoices')
export const getInvoice = /* @__PURE__ */ query('getInvoice', '/api/invoices/{id}')
export const listActs = /* @__PURE__ */ query('listActs', '/api/acts')
export const listChats = /* @__PURE__ */ query('listChats', '/api/chats')
export const getChat = /* @__PURE__ */ query('getChat', '/api/chats/{id}')
export const getChatsFile = /* @__PURE__ */ query('getChatsFile', '/api/chats.json')
export const getAccountData = /* @__PURE__ */ query('getAccountData', '/api/account/data')
export const getProfile = /* @__PURE__ */ query('getProfile', '/api/account/profile')
export const listPresetState = /* @__PURE__ */ query('listPresetState', '/api/state/presets')
export const listPresets = /* @__PURE__ */ query('listPresets', '/api/presets')
export const getPreset = /* @__PURE__ */ query('getPreset', '/api/presets/{name}')
export const listPresetVersions = /* @__PURE__ */ query('listPresetVersions', '/api/presets/{name}/versions')
export const getPresetVersion = /* @__PURE__ */ query(
  'getPresetVersion',
  '/api/presets/{name}/versions/{version}',
)
export const getTimezone = /* @__PURE__ */ query('getTimezone', '/api/account/timezone')
export const listProviderKeys = /* @__PURE__ */ query('listProviderKeys', '/api/provider-keys')
export const getNotifications = /* @__PURE__ */ query('getNotifications', '/api/notifications')
export const listNotices = /* @__PURE__ */ query('listNotices', '/api/notices')
export const getWebhookSecret = /* @__PURE__ */ query('getWebhookSecret', '/api/account/webhook-secret')
export const listInvitations = /* @__PURE__ */ query('listInvitations', '/api/invitations')
export const listJobs = /* @__PURE__ */ query('listJobs', '/api/jobs')
export const getJob = /* @__PURE__ */ query('getJob', '/api/jobs/{id}')
export const listAccountKeys = /* @__PURE__ */ query('listAccountKeys', '/api/keys')
export const getAccountKey = /* @__PURE__ */ query('getAccountKey', '/api/keys/{hash}')
export const listBudgets = /* @__PURE__ */ query('listBudgets', '/api/budgets')
export const getBudget = /* @__PURE__ */ query('getBudget', '/api/budgets/{id}')
export const getSpendable = /* @__PURE__ */ query('getSpendable', '/api/spendable')
export const listChildKeys = /* @__PURE__ */ query('listChildKeys', '/v1/keys/child', '/api/v1/keys/child')
export const listAgents = /* @__PURE__ */ query('listAgents', '/api/agents')
export const getAgent = /* @__PURE__ */ query('getAgent', '/api/agents/{hash}')
export const getPreferences = /* @__PURE__ */ query('getPreferences', '/api/account/preferences')
export const listSessions = /* @__PURE__ */ query('listSessions', '/api/auth/sessions')
export const listIdentities = /* @__PURE__ */ query('listIdentities', '/api/auth/identities')
export const listPasskeys = /* @__PURE__ */ query('listPasskeys', '/api/auth/passkeys')
export const listOrganizations = /* @__PURE__ */ query('listOrganizations', '/api/organizations')
export const getOrganization = /* @__PURE__ */ query('getOrganization', '/api/organizations/{id}')
export const listOrganizationMembers = /* @__PURE__ */ query(
  'listOrganizationMembers',
  '/api/organizations/{id}/members',
)
export const listTeams = /* @__PURE__ */ query('listTeams', '/api/organizations/{id}/teams')
export const listServices = /* @__PURE__ */ query('listServices', '/api/organizations/{id}/services')
export const listOrganizationInvitations = /* @__PURE__ */ query(
  'listOrganizationInvitations',
  '/api/organizations/{id}/invitations',
)
export const getOrganizationDirectory = /* @__PURE__ */ query(
  'getOrganizationDirectory',
  '/api/organizations/{id}/directory',
)
export const getLedger = /* @__PURE__ */ query('getLedger', '/api/ledger')
export const getLedgerDay = /* @__PURE__ */ query('getLedgerDay', '/api/ledger/day/{date}')
export const getUsage = /* @__PURE__ */ query('getUsage', '/api/usage')
export const listCalls = /* @__PURE__ */ query('listCalls', '/api/calls')
export const getCallHistogram = /* @__PURE__ */ query('getCallHistogram', '/api/calls/histogram')
export const listHiddenModels = /* @__PURE__ */ query('listHiddenModels', '/api/catalog/hidden')
export const getOverview = /* @__PURE__ */ query('getOverview', '/api/overview')
export const getCall = /* @__PURE__ */ query('getCall', '/api/calls/{id}')
export const getCallText = /* @__PURE__ */ query('getCallText', '/api/calls/{id}/text')
export const listReconciliations = /* @__PURE__ */ query('listReconciliations', '/api/admin/reconciliations')
export const getReconciliation = /* @__PURE__ */ query('getReconciliation', '/api/admin/reconciliations/{id}')
export const listUsers = /* @__PURE__ */ query('listUsers', '/api/admin/users')
export const getUser = /* @__PURE__ */ query('getUser', '/api/admin/users/{id}')
export const listAdminCalls = /* @__PURE__ */ query('listAdminCalls', '/api/admin/calls')
export const getAdminCallTimes = /* @__PURE__ */ query('getAdminCallTimes', '/api/admin/calls/histogram')
export const getAdminCall = /* @__PURE__ */ query('getAdminCall', '/api/admin/calls/{id}')
export const listFailures = /* @__PURE__ */ query('listFailures', '/api/admin/errors')
export const getFailure = /* @__PURE__ */ query('getFailure', '/api/admin/errors/one')
export const getSales = /* @__PURE__ */ query('getSales', '/api/admin/sales')
export const getEndpointActivity = /* @__PURE__ */ query(
  'getEndpointActivity',
  '/api/admin/endpoints/{id}/activity',
)
export const getAdminNow = /* @__PURE__ */ query('getAdminNow', '/api/admin/now')
export const listAdminPrices = /* @__PURE__ */ query('listAdminPrices', '/api/admin/prices')
export const getPriceDraft = /* @__PURE__ */ query('getPriceDraft', '/api/admin/prices/draft')
export const listPricePublications = /* @__PURE__ */ query(
  'listPricePublications',
  '/api/admin/prices/publications',
)
export const getPriceImport = /* @__PURE__ */ query('getPriceImport', '/api/admin/prices/import')
export const getAdminCatalog = /* @__PURE__ */ query('getAdminCatalog', '/api/admin/catalog')
export const getAdminHistory = /* @__PURE__ */ query('getAdminHistory', '/api/admin/catalog/history')
export const listAdminProviders = /* @__PURE__ */ query('listAdminProviders', '/api/admin/providers')
export const getAdminProvider = /* @__PURE__ */ query('getAdminProvider', '/api/admin/providers/{id}')
export const listAdminEndpoints = /* @__PURE__ */ query('listAdminEndpoints', '/api/admin/endpoints')
export const getAdminEndpoint = /* @__PURE__ */ query('getAdminEndpoint', '/api/admin/endpoints/{id}')
export const listAliases = /* @__PURE__ */ query('listAliases', '/api/admin/aliases')
export const listOrders = /* @__PURE__ */ query('listOrders', '/api/admin/orders')
export const getOrder = /* @__PURE__ */ query('getOrder', '/api/admin/orders/{model}')
export const listAbsences = /* @__PURE__ */ query('listAbsences', '/api/admin/absences')
export const getAbsenceEffect = /* @__PURE__ */ query(
  'getAbsenceEffect',
  '/api/admin/absences/{target}/effect',
)
export const listState = /* @__PURE__ */ query('listState', '/api/admin/state/{kind}')
export const listAdminProviderKeys = /* @__PURE__ */ query(
  'listAdminProviderKeys',
  '/api/admin/providers/{id}/keys',
)
export const listAdminRates = /* @__PURE__ */ query('listAdminRates', '/api/admin/rates')
export const listVouchers = /* @__PURE__ */ query('listVouchers', '/api/admin/vouchers')
export const listAllPayments = /* @__PURE__ */ query('listAllPayments', '/api/admin/payments')
export const getAnyPayment = /* @__PURE__ */ query('getAnyPayment', '/api/admin/payments/{id}')
export const listAllActs = /* @__PURE__ */ query('listAllActs', '/api/admin/acts')
export const listMissingActs = /* @__PURE__ */ query('listMissingActs', '/api/admin/acts/missing')
export const listBankStatements = /* @__PURE__ */ query('listBankStatements', '/api/admin/statements')
export const getBankStatement = /* @__PURE__ */ query('getBankStatement', '/api/admin/statements/{id}')
export const listAllInvoices = /* @__PURE__ */ query('listAllInvoices', '/api/admin/invoices')
export const getAnyInvoice = /* @__PURE__ */ query('getAnyInvoice', '/api/admin/invoices/{id}')
export const getAlerts = /* @__PURE__ */ query('getAlerts', '/api/admin/alerts')
export const listAlertIncidents = /* @__PURE__ */ query('listAlertIncidents', '/api/admin/alerts/incidents')
export const listAudit = /* @__PURE__ */ query('listAudit', '/api/admin/audit')
export const getAdminLedger = /* @__PURE__ */ query('getAdminLedger', '/api/admin/ledger')
export const getLedgerTransaction = /* @__PURE__ */ query(
  'getLedgerTransaction',
  '/api/admin/ledger/transaction',
)
export const listAllJobs = /* @__PURE__ */ query('listAllJobs', '/api/admin/jobs')
export const listSettings = /* @__PURE__ */ query('listSettings', '/api/admin/settings')
export const getCatalog = /* @__PURE__ */ query('getCatalog', '/api/catalog')
export const getModelSeries = /* @__PURE__ */ query('getModelSeries', '/api/models/{vendor}/{model}/series')
export const getStatus = /* @__PURE__ */ query('getStatus', '/api/status')
export const getRankings = /* @__PURE__ */ query('getRankings', '/api/rankings')
