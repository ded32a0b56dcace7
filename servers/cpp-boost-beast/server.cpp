#include <boost/asio.hpp>
#include <boost/beast.hpp>
#include <boost/version.hpp>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;
using Request = http::request<http::string_body>;
using Response = http::response<http::string_body>;

const bool with_date = std::getenv("DATE") != nullptr;

std::string date() {
    char text[30];
    const std::time_t now = std::time(nullptr);
    std::tm parts;
    std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", gmtime_r(&now, &parts));
    return text;
}

Response respond(const Request& request) {
    Response response{http::status::not_found, request.version()};
    if (request.method() == http::verb::get && request.target() == "/") {
        response.result(http::status::ok);
        response.set(http::field::content_type, "text/plain");
        response.body() = "Hello, World!";
    }
    response.set(http::field::server, BOOST_BEAST_VERSION_STRING);
    if (with_date) response.set(http::field::date, date());
    response.keep_alive(request.keep_alive());
    response.prepare_payload();
    return response;
}

class Session : public std::enable_shared_from_this<Session> {
public:
    explicit Session(tcp::socket&& socket) : stream_(std::move(socket)) {}

    void read() {
        request_ = {};
        http::async_read(stream_, buffer_, request_,
                         [self = shared_from_this()](beast::error_code error, std::size_t) {
                             if (!error) self->write();
                         });
    }

private:
    void write() {
        response_.emplace(respond(request_));
        http::async_write(stream_, *response_,
                          [self = shared_from_this()](beast::error_code error, std::size_t) {
                              if (!error && self->response_->keep_alive()) self->read();
                              else self->stream_.socket().shutdown(tcp::socket::shutdown_both, error);
                          });
    }

    beast::tcp_stream stream_;
    beast::flat_buffer buffer_;
    Request request_;
    std::optional<Response> response_;
};

void accept(asio::io_context& context, tcp::acceptor& acceptor) {
    acceptor.async_accept(asio::make_strand(context),
                          [&](beast::error_code error, tcp::socket socket) {
                              if (!error) std::make_shared<Session>(std::move(socket))->read();
                              accept(context, acceptor);
                          });
}

int main(int argc, char** argv) {
    if (argc != 4) {
        std::cout << BOOST_VERSION / 100000 << '.' << BOOST_VERSION / 100 % 1000 << '\n';
        return 0;
    }
    const int workers = std::atoi(argv[3]);
    asio::io_context context{workers};
    tcp::endpoint address{asio::ip::make_address(argv[1]),
                          static_cast<unsigned short>(std::atoi(argv[2]))};
    tcp::acceptor acceptor{context};
    acceptor.open(address.protocol());
    acceptor.set_option(asio::socket_base::reuse_address(true));
    acceptor.bind(address);
    acceptor.listen(4096);
    accept(context, acceptor);
    std::vector<std::thread> threads;
    for (int i = 1; i < workers; ++i) threads.emplace_back([&] { context.run(); });
    context.run();
}
