"""What the bodies of tls and tls_asyncio share: a module on the board beside them."""


def check_ssl(verify):
    """Raises OSError for a port without what the workload needs."""
    try:
        import ssl
    except ImportError:
        ssl = None
    if not hasattr(ssl, "SSLContext"):
        raise OSError("unsupported: this port has no module ssl with an SSLContext")
    if verify and not hasattr(ssl.SSLContext, "load_verify_locations"):
        raise OSError("unsupported: this port's ssl checks no certificate; add -s verify=no")


def server_name(key, chain, version, fault, domain="portbench.test"):
    name = "%s-%s" % (key, "chain%d" % chain if fault == "none" else fault)
    if version != "any":
        name += "-tls" + version.replace(".", "")
    return "%s.%s" % (name, domain)


def set_clock(server, result):
    """As a user does: a board without battery does not know the date, which the check of a certificate needs."""
    import ntptime

    ntptime.timeout = 2
    for host in (server, "pool.ntp.org"):
        ntptime.host = host
        try:
            ntptime.settime()
            return
        except OSError as error:
            result["clock_error"] = repr(error)


def client_context(verify):
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not verify:
        context.verify_mode = ssl.CERT_NONE
        return context
    context.verify_mode = ssl.CERT_REQUIRED
    with open("root.der", "rb") as file:
        context.load_verify_locations(cadata=file.read())
    return context
