"""Bounces and complaints in the form in which mail servers and mailbox providers send them."""

DSN = """\
From: MAILER-DAEMON@mx.example.net (Mail Delivery System)
To: {to}
Subject: Undelivered Mail Returned to Sender
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
\tboundary="4Zq0.1700000000/mx.example.net"

This is a MIME-encapsulated message.

--4Zq0.1700000000/mx.example.net
Content-Description: Notification
Content-Type: text/plain; charset=us-ascii

I'm sorry to have to inform you that your message could not be delivered.

--4Zq0.1700000000/mx.example.net
Content-Description: Delivery report
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.net
Arrival-Date: Tue, 17 Nov 2026 10:00:00 +0000 (UTC)

Final-Recipient: rfc822; {final}
Original-Recipient: rfc822;{recipient}
Action: {action}
Status: {status}
Diagnostic-Code: smtp; 550 {status} <{recipient}>: Recipient address
    rejected: User unknown

--4Zq0.1700000000/mx.example.net
Content-Description: Undelivered Message Headers
Content-Type: text/rfc822-headers

Return-Path: <{to}>
Message-ID: <{mark}@shop.example>
From: shop@shop.example
To: {recipient}
Subject: Hello

--4Zq0.1700000000/mx.example.net--
"""
ARF = """\
From: <abusedesk@example.net>
To: <{to}>
Subject: FW: Earn money
MIME-Version: 1.0
Content-Type: multipart/report; report-type=feedback-report;
     boundary="part1_13d.2e68ed54_boundary"

--part1_13d.2e68ed54_boundary
Content-Type: text/plain; charset="US-ASCII"

This is an email abuse report.

--part1_13d.2e68ed54_boundary
Content-Type: message/feedback-report

Feedback-Type: {kind}
User-Agent: SomeGenerator/1.0
Version: 1
Original-Mail-From: <{to}>
Original-Rcpt-To: <{recipient}>

--part1_13d.2e68ed54_boundary
Content-Type: message/rfc822
Content-Disposition: inline

Message-ID: <{mark}@shop.example>
From: shop@shop.example
To: <{recipient}>
Subject: Hello

Hello
--part1_13d.2e68ed54_boundary--
"""


def dsn(
    recipient: str, *, to: str = "x@x.example", mark: str = "x", status: str = "5.1.1", **more: str
) -> bytes:
    """A bounce, with the line ends of SMTP."""
    words = {"final": recipient, "action": "failed"} | more
    text = DSN.format(recipient=recipient, to=to, mark=mark, status=status, **words)
    return text.replace("\n", "\r\n").encode()


def arf(recipient: str, *, to: str = "x@x.example", mark: str = "x", kind: str = "abuse") -> bytes:
    """A complaint."""
    return (
        ARF.format(recipient=recipient, to=to, mark=mark, kind=kind).replace("\n", "\r\n").encode()
    )
