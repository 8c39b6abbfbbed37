using System;
using System.Collections.Generic;
using System.IO;
using System.Net.Security;
using System.Net.Sockets;
using System.Security.Cryptography.X509Certificates;
using System.Text;

/// <summary>chain fill BUNDLE…: puts certificates into the user's store of intermediate CAs, a directory with a file for each.
/// chain build LEAF INTERMEDIATE ROOT|-: X509Chain.Build, ten times. chain tls NAME PORT…: an SslStream to each.</summary>
class Chain
{
    static int Main(string[] arguments)
    {
        switch (arguments[0])
        {
            case "fill": return Fill(arguments[1]);
            case "build": return Build(arguments[1], arguments[2], arguments[3]);
            default: return Tls(arguments);
        }
    }

    static int Fill(string bundle)
    {
        const string End = "-----END CERTIFICATE-----";
        using (var store = new X509Store(StoreName.CertificateAuthority, StoreLocation.CurrentUser))
        {
            store.Open(OpenFlags.ReadWrite);
            string text = File.ReadAllText(bundle);
            for (int from = 0, to; (to = text.IndexOf(End, from)) >= 0; from = to + End.Length)
                store.Add(new X509Certificate2(Encoding.ASCII.GetBytes(text.Substring(from, to + End.Length - from))));
            Console.WriteLine("in the store: {0}", store.Certificates.Count);
        }
        return 0;
    }

    static int Build(string leaf, string intermediate, string root)
    {
        for (int turn = 0; turn < 10; turn++)
        {
            using (var chain = new X509Chain())
            {
                chain.ChainPolicy.RevocationMode = X509RevocationMode.NoCheck;
                if (intermediate != "-")
                    chain.ChainPolicy.ExtraStore.Add(new X509Certificate2(intermediate));
                if (root != "-")
                    chain.ChainPolicy.ExtraStore.Add(new X509Certificate2(root));
                bool good = chain.Build(new X509Certificate2(leaf));
                var states = new List<string>();
                foreach (var state in chain.ChainStatus)
                    states.Add(state.Status.ToString());
                var names = new List<string>();
                foreach (var element in chain.ChainElements)
                    names.Add(element.Certificate.Subject);
                Console.WriteLine("{0}: {1}; {2}", good, string.Join(", ", states), string.Join(" < ", names));
            }
        }
        return 0;
    }

    static int Tls(string[] arguments)
    {
        for (int i = 2; i < arguments.Length; i++)
        {
            for (int turn = 0; turn < 2; turn++)
            {
                using (var client = new TcpClient("127.0.0.1", int.Parse(arguments[i])))
                using (var stream = new SslStream(client.GetStream(), false, (sender, certificate, chain, errors) =>
                {
                    Console.WriteLine("seen: {0}, {1} elements", errors, chain.ChainElements.Count);
                    return errors == SslPolicyErrors.None;
                }))
                {
                    try
                    {
                        stream.AuthenticateAsClient(arguments[1]);
                        Console.WriteLine("good");
                    }
                    catch (System.Security.Authentication.AuthenticationException error)
                    {
                        Console.WriteLine("refused: {0}", error.Message);
                    }
                }
            }
        }
        return 0;
    }
}
