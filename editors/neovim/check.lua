-- Run by check.sh: drives the server through Neovim's own client.
local failed = 0

local function check(name, holds, found)
  if not holds then
    failed = failed + 1
  end
  print((holds and 'ok      ' or 'FAILED  ') .. name .. (holds and '' or ': ' .. vim.inspect(found)) .. '\n')
end

local client = vim.lsp.start_client({
  name = 'ephor',
  cmd = { vim.env.EPHOR, 'lsp' },
  root_dir = vim.fn.getcwd(),
  workspace_folders = { { uri = vim.uri_from_fname(vim.fn.getcwd()), name = 'w' } },
})

local function open(file)
  vim.cmd('edit ' .. file)
  local buffer = vim.api.nvim_get_current_buf()
  vim.lsp.buf_attach_client(buffer, client)
  return buffer
end

local function wait(holds)
  return vim.wait(20000, holds, 20)
end

local function request(buffer, method, line, character)
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(buffer) },
    position = { line = line, character = character },
  }
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 20000) or {}
  return (answers[client] or {}).result
end

local ok, problem = pcall(function()
  local pod = open('pod.yaml')
  wait(function() return #vim.diagnostic.get(pod) > 0 end)
  local found = vim.diagnostic.get(pod)[1] or {}
  check('a manifest has the violation at its field', found.lnum == 7 and found.col == 11, found)
  check('it is an error', found.severity == vim.diagnostic.severity.ERROR, found)
  vim.api.nvim_buf_set_lines(pod, 7, 8, false, { '    image: nginx:1.27' })
  check('it goes when the text is repaired', wait(function() return #vim.diagnostic.get(pod) == 0 end), vim.diagnostic.get(pod))

  local policy = open('policy.yaml')
  local hover = request(policy, 'textDocument/hover', 12, 8)
  check('a field has a hint', hover and hover.contents.value:find('failureAction') ~= nil, hover)
  vim.api.nvim_buf_set_lines(policy, 12, 13, false, { '      fail' })
  local items = request(policy, 'textDocument/completion', 12, 10)
  local labels = {}
  for _, item in ipairs((items or {}).items or {}) do labels[item.label] = true end
  check('a field is completed in text that is half typed', labels.failureAction, labels)
  wait(function() return #vim.diagnostic.get(policy) > 0 end)
  check('half typed text has a finding', #vim.diagnostic.get(policy) > 0, vim.diagnostic.get(policy))
  local symbols = request(policy, 'textDocument/documentSymbol', 0, 0)
  check('symbols can be requested', type(symbols) == 'table', symbols)
end)
check('no error of the script', ok, problem)
vim.lsp.stop_client(client)
vim.cmd(failed == 0 and 'qall!' or 'cquit!')
