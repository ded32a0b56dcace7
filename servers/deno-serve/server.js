export default {
  fetch(request) {
    const { pathname } = new URL(request.url);
    return request.method === "GET" && pathname === "/"
      ? new Response("Hello, World!")
      : new Response(null, { status: 404 });
  },
};
