// hocket-lsp-server: diagnostics, completion and navigation for Hocket's dialects in an editor.
//
// MLIR's server knows operations and values, but neither what a pass would say nor names that are
// no symbols. It runs as a child process; in front of it stand the parts that know schedules: what
// the compiler says of a document is added to its diagnostics, and requests about the steps in a
// schedule are answered here. Everything else passes unchanged.
#include "Messages.h"
#include "ScheduleDiagnostics.h"

#include "Registration/Registration.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

#include "llvm/Support/LSP/Protocol.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <map>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace hocket::lsp;
using llvm::StringRef;
namespace json = llvm::json;

namespace {
struct Document {
  std::string text;
  int64_t version = 0;
};

class Front {
public:
  Front(MessageWriter &client, MessageWriter &server) : client(client), server(server) {}

  /// Deals with a message of the editor; false at the end of the conversation.
  bool fromClient(const std::string &message);
  /// Deals with a message of MLIR's server.
  bool fromServer(const std::string &message);

private:
  void follow(StringRef method, const json::Value &params);
  std::optional<json::Value> answer(StringRef method, const json::Object &params);
  std::optional<Document> find(StringRef uri);

  MessageWriter &client, &server;
  std::mutex mutex; ///< of `documents`
  std::map<std::string, Document, std::less<>> documents;
};
} // namespace

static json::Object rangeOf(Position begin, Position end) {
  auto position = [](Position at) {
    return json::Object{{"line", at.line}, {"character", at.column}};
  };
  return json::Object{{"start", position(begin)}, {"end", position(end)}};
}

std::optional<Document> Front::find(StringRef uri) {
  std::lock_guard lock(mutex);
  auto found = documents.find(uri);
  return found == documents.end() ? std::nullopt : std::optional(found->second);
}

/// Keeps the documents as the editor has them.
void Front::follow(StringRef method, const json::Value &params) {
  const json::Object *object = params.getAsObject();
  const json::Object *document = object ? object->getObject("textDocument") : nullptr;
  std::optional<StringRef> uri = document ? document->getString("uri") : std::nullopt;
  if (!uri)
    return;
  std::lock_guard lock(mutex);
  if (method == "textDocument/didClose") {
    documents.erase(uri->str());
    return;
  }
  Document &known = documents[uri->str()];
  known.version = document->getInteger("version").value_or(known.version + 1);
  if (method == "textDocument/didOpen") {
    known.text = document->getString("text").value_or("").str();
    return;
  }
  std::vector<llvm::lsp::TextDocumentContentChangeEvent> changes;
  json::Path::Root root;
  if (const json::Value *given = object->get("contentChanges"))
    if (fromJSON(*given, changes, root))
      (void)llvm::lsp::TextDocumentContentChangeEvent::applyTo(changes, known.text);
}

/// The answer to a request about steps in a schedule; nothing if it is about something else.
std::optional<json::Value> Front::answer(StringRef method, const json::Object &params) {
  const json::Object *where = params.getObject("position");
  const json::Object *document = params.getObject("textDocument");
  if (!where || !document)
    return std::nullopt;
  StringRef uri = document->getString("uri").value_or("");
  std::optional<Document> known = find(uri);
  if (!known)
    return std::nullopt;
  Position at{unsigned(where->getInteger("line").value_or(0)),
              unsigned(where->getInteger("character").value_or(0))};
  ScheduleText schedules = readScheduleText(known->text);
  json::Array results;
  if (method == "textDocument/definition") {
    const Piece *place = schedules.placedAt(at);
    if (!place)
      return std::nullopt;
    for (const Piece &step : schedules.steps)
      if (step.text == place->text)
        results.push_back(json::Object{{"uri", uri}, {"range", rangeOf(step.begin, step.end)}});
    return json::Value(std::move(results));
  }
  if (!schedules.inCluster(at))
    return std::nullopt;
  constexpr int kEnumMember = 20;
  for (const std::string &name : stepNames(schedules))
    results.push_back(json::Object{{"label", name}, {"kind", kEnumMember}});
  return json::Value(json::Object{{"isIncomplete", false}, {"items", std::move(results)}});
}

bool Front::fromClient(const std::string &message) {
  llvm::Expected<json::Value> parsed = json::parse(message);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return server.write(message); // MLIR's server says what is wrong with it
  }
  const json::Object *object = parsed->getAsObject();
  StringRef method = object ? object->getString("method").value_or("") : "";
  const json::Value *params = object ? object->get("params") : nullptr;
  if (params && (method == "textDocument/didOpen" || method == "textDocument/didChange" ||
                 method == "textDocument/didClose"))
    follow(method, *params);
  const json::Value *id = object ? object->get("id") : nullptr;
  if (id && params && params->getAsObject() &&
      (method == "textDocument/definition" || method == "textDocument/completion"))
    if (std::optional<json::Value> result = answer(method, *params->getAsObject()))
      return client.writeJson(
          json::Object{{"jsonrpc", "2.0"}, {"id", *id}, {"result", std::move(*result)}});
  return server.write(message) && method != "exit";
}

bool Front::fromServer(const std::string &message) {
  llvm::Expected<json::Value> parsed = json::parse(message);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return client.write(message);
  }
  json::Object *object = parsed->getAsObject();
  if (!object || object->getString("method") != StringRef("textDocument/publishDiagnostics"))
    return client.write(message);
  json::Object *params = object->getObject("params");
  json::Array *list = params ? params->getArray("diagnostics") : nullptr;
  std::optional<Document> known =
      params ? find(params->getString("uri").value_or("")) : std::nullopt;
  // What does not parse is MLIR's to say; and a newer text is on its way if this one is not known.
  if (!list || !list->empty() || !known ||
      params->getInteger("version").value_or(known->version) != known->version)
    return client.write(message);
  constexpr int kError = 1;
  for (const DocumentError &error : findErrors(known->text, readScheduleText(known->text)))
    list->push_back(json::Object{{"range", rangeOf(error.at, error.at)},
                                 {"severity", kError},
                                 {"source", "hocket"},
                                 {"message", error.message}});
  return client.writeJson(*parsed);
}

static int runServer(int argc, char **argv) {
  mlir::DialectRegistry registry;
  hocket::registerDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}

/// Whether there is a conversation to stand in front of: not for help and for MLIR's test format.
static bool speaksProtocol(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    StringRef option = StringRef(argv[i]).ltrim('-');
    if (option.starts_with("help") || option == "version" || option.starts_with("lit-test") ||
        option.starts_with("input-style"))
      return false;
  }
  return true;
}

int main(int argc, char **argv) {
  if (!speaksProtocol(argc, argv))
    return runServer(argc, argv);
  int toServer[2], fromServer[2];
  if (::pipe(toServer) != 0 || ::pipe(fromServer) != 0) {
    llvm::errs() << "hocket-lsp-server: error: no pipe can be made\n";
    return 2;
  }
  pid_t child = ::fork();
  if (child < 0) {
    llvm::errs() << "hocket-lsp-server: error: no process can be made\n";
    return 2;
  }
  if (child == 0) {
    ::dup2(toServer[0], STDIN_FILENO);
    ::dup2(fromServer[1], STDOUT_FILENO);
    for (int file : {toServer[0], toServer[1], fromServer[0], fromServer[1]})
      ::close(file);
    return runServer(argc, argv);
  }
  ::close(toServer[0]);
  ::close(fromServer[1]);
  std::signal(SIGPIPE, SIG_IGN);
  MessageWriter client(STDOUT_FILENO), server(toServer[1]);
  Front front(client, server);
  std::thread answers([&] {
    MessageReader reader(fromServer[0]);
    while (std::optional<std::string> message = reader.next())
      if (!front.fromServer(*message))
        return;
  });
  MessageReader reader(STDIN_FILENO);
  while (std::optional<std::string> message = reader.next())
    if (!front.fromClient(*message))
      break;
  ::close(toServer[1]);
  answers.join();
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 2;
}
