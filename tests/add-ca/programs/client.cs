using System;
using System.Net.Http;

/// <summary>client URL: what the server sends.</summary>
class Client
{
    static int Main(string[] arguments)
    {
        try
        {
            using (var client = new HttpClient())
                Console.Write(client.GetStringAsync(arguments[0]).GetAwaiter().GetResult());
            return 0;
        }
        catch (HttpRequestException error)
        {
            Console.Error.WriteLine(error);
            return 1;
        }
    }
}
